package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// problem is an error told in other words.
type problem struct {
	text  string
	cause error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.cause }

// Explain returns err of a call to a service API at an endpoint in words that name the cause
// and the address; the error stays what errors.Is and errors.As find. What it does not
// know it returns as it is, nil included.
func Explain(endpoint string, err error) error {
	if address, ok := addressOf(endpoint); err != nil && !ok {
		return &problem{fmt.Sprintf("%s is no URL of a host: is it http://%s?", endpoint, address), err}
	}
	var answer smithy.APIError
	var sent *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	var other *smithyhttp.ResponseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		return &problem{fmt.Sprintf("%s (%s)", answer.ErrorMessage(), answer.ErrorCode()), err}
	case errors.As(err, &name):
		return &problem{fmt.Sprintf("no host answers at %s: there is no address of %s (%v)", endpoint, name.Name, name), err}
	case errors.As(err, &authority):
		return &problem{fmt.Sprintf("the certificate of %s is signed by nobody known here: trust its authority with --ca", endpoint), err}
	case errors.As(err, &certificate):
		return &problem{fmt.Sprintf("the certificate of %s is not valid for it: %v", endpoint, certificate.Err), err}
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return &problem{fmt.Sprintf("%s does not answer in TLS: is it http://?", endpoint), err}
	case errors.As(err, &sent) && sent.Op == "dial":
		return &problem{fmt.Sprintf("no host answers at %s, is it running? (%v)", endpoint, sent), err}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{fmt.Sprintf("the host at %s did not answer in time", endpoint), err}
	case errors.As(err, &sent), strings.HasSuffix(err.Error(), "EOF"):
		return &problem{fmt.Sprintf("the host at %s did not answer: %v", endpoint, last(err)), err}
	case errors.As(err, &other) && other.HTTPStatusCode() >= http.StatusInternalServerError:
		return &problem{fmt.Sprintf("the host at %s did not answer: HTTP status %d", endpoint, other.HTTPStatusCode()), err}
	case errors.As(err, &other) && other.HTTPStatusCode() > 0:
		return &problem{fmt.Sprintf("what answers at %s is not the service API of a host (HTTP status %d)", endpoint, other.HTTPStatusCode()), err}
	}
	return err
}

// addressOf returns what follows the scheme of a URL, and whether the URL is one of HTTP.
func addressOf(text string) (address string, ok bool) {
	_, address, found := strings.Cut(text, "://")
	if !found {
		address = text
	}
	u, err := url.Parse(text)
	return address, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
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
