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

// problem is an error with a replacement text.
type problem struct {
	text  string
	cause error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.cause }

// Explain replaces the text of err, an error from a call to the service API at endpoint, by one that gives the cause
// and the address. The returned error wraps err. Unknown errors and nil are returned unchanged.
func Explain(endpoint string, err error) error {
	if address, ok := addressOf(endpoint); err != nil && !ok {
		return &problem{fmt.Sprintf("%s is not the URL of a host: is it http://%s?", endpoint, address), err}
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
		return &problem{fmt.Sprintf("no host answers at %s: the name %s has no address (%v)", endpoint, name.Name, name), err}
	case errors.As(err, &authority):
		return &problem{fmt.Sprintf("the certificate of %s is signed by an unknown authority: trust it with --ca", endpoint), err}
	case errors.As(err, &certificate):
		return &problem{fmt.Sprintf("the certificate of %s is not valid for it: %v", endpoint, certificate.Err), err}
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return &problem{fmt.Sprintf("%s does not answer with TLS: is it http://?", endpoint), err}
	case strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`): // a TLS alert
		return &problem{fmt.Sprintf("%s does not answer without TLS: is it https://?", endpoint), err}
	case strings.Contains(err.Error(), "malformed HTTP "):
		return &problem{fmt.Sprintf("what answers at %s does not speak HTTP: give the address of a host's service API (api.addr)", endpoint), err}
	case errors.As(err, &sent) && sent.Op == "dial":
		return &problem{fmt.Sprintf("no host answers at %s, is it running? (%v)", endpoint, sent), err}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{fmt.Sprintf("the host at %s did not answer in time", endpoint), err}
	case errors.As(err, &sent), strings.HasSuffix(err.Error(), "EOF"):
		return &problem{fmt.Sprintf("the host at %s did not answer: %v", endpoint, last(err)), err}
	case errors.As(err, &other) && other.HTTPStatusCode() > 0:
		return &problem{Refused(endpoint, other.HTTPStatusCode()).Error(), err}
	}
	return err
}

// Refused returns an error for a call that was answered with this HTTP status and a body that no host sends.
func Refused(endpoint string, status int) error {
	if status >= http.StatusInternalServerError {
		return fmt.Errorf("the host at %s did not answer: HTTP status %d", endpoint, status)
	}
	// the answer of Go and nginx to plain HTTP on a TLS port
	if status == http.StatusBadRequest && strings.HasPrefix(endpoint, "http://") {
		return fmt.Errorf("%s does not take calls without TLS, or is not the service API of a host (HTTP status 400): is it https://?", endpoint)
	}
	return fmt.Errorf("the server at %s is not the service API of a host (HTTP status %d)", endpoint, status)
}

// addressOf returns a URL without its scheme, and whether it is a valid HTTP URL.
func addressOf(text string) (address string, ok bool) {
	_, address, found := strings.Cut(text, "://")
	if !found {
		address = text
	}
	u, err := url.Parse(text)
	return address, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// last returns the innermost error.
func last(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
