package reach

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"
)

// problem is an error told in other words.
type problem struct {
	text  string
	cause error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.cause }

// Explain returns err of a call to a service API at a URL in words that name the cause
// and the address; the error stays what errors.Is and errors.As find. What it does not
// know it returns as it is, nil included.
func Explain(url string, err error) error {
	var answer smithy.APIError
	var sent *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		return &problem{fmt.Sprintf("%s (%s)", answer.ErrorMessage(), answer.ErrorCode()), err}
	case errors.As(err, &name):
		return &problem{fmt.Sprintf("no host answers at %s: there is no address of %s (%v)", url, name.Name, name), err}
	case errors.As(err, &authority):
		return &problem{fmt.Sprintf("the certificate of %s is signed by nobody known here: trust its authority with --ca", url), err}
	case errors.As(err, &certificate):
		return &problem{fmt.Sprintf("the certificate of %s is not valid for it: %v", url, certificate.Err), err}
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return &problem{fmt.Sprintf("%s does not answer in TLS: is it http://?", url), err}
	case errors.As(err, &sent) && sent.Op == "dial":
		return &problem{fmt.Sprintf("no host answers at %s, is it running? (%v)", url, sent), err}
	case errors.As(err, &sent), strings.HasSuffix(err.Error(), "EOF"):
		return &problem{fmt.Sprintf("the host at %s did not answer: %v", url, last(err)), err}
	}
	return err
}

// last is the innermost error.
func last(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
