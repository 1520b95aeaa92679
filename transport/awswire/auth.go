package awswire

import (
	"context"
	"net/http"
	"strings"
)

// Caller identifies the sender of a request.
type Caller struct {
	AccessKey string // empty without credentials
	Region    string // region of the credential scope; empty without one

	key *accessKey // nil if the caller has no verified key, and therefore no limits
}

// shortKey returns the beginning of the access key, for the log (reliability.md 6).
func (c Caller) shortKey() string { return c.AccessKey[:min(len(c.AccessKey), 8)] }

// Operator reports whether the caller's key allows every operation. Such a caller may see the operator's
// pages.
func (c Caller) Operator() bool { return c.key != nil && c.key.allowed == nil }

// Reader reports whether the caller's key allows every reading operation: Describe*, List*, Search* and
// GetGameSessionLogUrl. Such a caller may look at the operator's console, but change nothing there.
func (c Caller) Reader() bool {
	if c.key == nil {
		return false
	}
	for name, allowed := range c.key.allowed {
		reads := strings.HasPrefix(name, "Describe") || strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Search") || name == "GetGameSessionLogUrl"
		if reads && !allowed {
			return false
		}
	}
	return true
}

// Allowed reports whether the caller may call the named operation.
func (c Caller) Allowed(operation string) bool {
	return c.key == nil || c.key.allowed == nil || c.key.allowed[operation]
}

// callerOf is the context key of the Caller.
type callerOf struct{}

// CallerOf returns the sender of the request whose handler got ctx.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerOf{}).(Caller)
	return c
}

// Authenticator identifies the caller of a request in two steps. First it checks the headers, so that the
// body of a refused request is not read. Then the returned Proof checks the body. A refusal is a *Fault; any
// other error is an internal fault. It is safe for concurrent use.
type Authenticator func(r *http.Request) (Proof, error)

// Proof checks the complete body, which it must not keep or change. It returns the same kinds of errors as an
// Authenticator. It is called at most once.
type Proof func(body []byte) (Caller, error)

// Anyone is the Authenticator of auth mode none: it verifies nothing. It only refuses requests of web pages,
// which browsers mark with an Origin header, to prevent DNS rebinding. The key and the region of the Caller
// are unverified claims from the Authorization header.
func Anyone(r *http.Request) (Proof, error) {
	if r.Header.Get("Origin") != "" {
		return nil, BadRequest(accessDenied, "web pages do not call a service API without access keys")
	}
	caller := claimed(r)
	return func([]byte) (Caller, error) { return caller, nil }, nil
}

func claimed(r *http.Request) Caller {
	_, rest, ok := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if !ok {
		return Caller{}
	}
	scope, _, _ := strings.Cut(rest, ",")
	parts := strings.Split(strings.TrimSpace(scope), "/") // key/date/region/service/aws4_request
	if len(parts) != 5 || parts[4] != scopeEnd || len(scope) > 256 {
		return Caller{}
	}
	return Caller{AccessKey: parts[0], Region: parts[2]}
}
