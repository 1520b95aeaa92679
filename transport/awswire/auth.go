package awswire

import (
	"context"
	"net/http"
	"strings"
)

// Caller is who sent a request.
type Caller struct {
	AccessKey string // empty without credentials
	Region    string // region of the credential scope; empty without one

	key *accessKey // nil: nobody to limit
}

// shortKey is as much of the access key as a log shows (reliability.md 6).
func (c Caller) shortKey() string { return c.AccessKey[:min(len(c.AccessKey), 8)] }

// Operator reports whether the caller has a key that may call every operation, and so see the operator's pages.
func (c Caller) Operator() bool { return c.key != nil && c.key.allowed == nil }

// Reader reports whether the caller has a key that may call every operation that only reads: Describe*, List*, Search* and
// GetGameSessionLogUrl. Such a caller may look at the operator's console, and change nothing there.
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

// Allowed reports whether the caller may call an operation of that name.
func (c Caller) Allowed(operation string) bool {
	return c.key == nil || c.key.allowed == nil || c.key.allowed[operation]
}

// callerOf is the key of the Caller in the context of a handler.
type callerOf struct{}

// CallerOf returns who sent the request whose handler has ctx.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerOf{}).(Caller)
	return c
}

// Authenticator identifies the caller of a request in two steps: it checks the headers, so that the body of a refused request is not read,
// and returns a Proof for the rest. It refuses with a *Fault. The Server answers any other error like an error of a handler whose operation
// declares no errors (Options.Fault). Any goroutine may call it.
type Authenticator func(r *http.Request) (Proof, error)

// Proof checks the whole body, which it must not keep or change. It refuses as an Authenticator does, and is called once at most.
type Proof func(body []byte) (Caller, error)

// Anyone is the Authenticator of auth mode none: it verifies nothing. It refuses only web pages, which browsers mark with their origin (DNS
// rebinding). Key and region of the Caller are claims of the Authorization header.
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
