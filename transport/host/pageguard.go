package host

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"troupe/transport/awswire"
)

const (
	operatorsOnly = "an access key that may call every operation is needed here (troupe logs, or curl --aws-sigv4 aws:amz:REGION:gamelift)"
	thisMachine   = "this page is for callers on this machine that ask for it by localhost or a loopback address and not through a proxy, and with an access key that may call every operation"
)

// guard controls access to the pages that show data of players and scripts: /debug/ and /events.
type guard struct {
	auth awswire.Authenticator
	keys bool // whether access keys are configured
	// local means that requests from this machine need no key. If there are keys, it is off unless the
	// operator sets api.trustLoopback: requests that a proxy on this machine forwards come from loopback as
	// well, and a proxy need not add a header.
	local bool
}

func (c *Config) guard(auth awswire.Authenticator) guard {
	return guard{auth: auth, keys: c.API.signed(), local: !c.API.signed() || c.API.TrustLoopback}
}

func (g guard) debugPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/debug/") && !g.allows(r) {
			http.Error(w, g.refusal(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// events guards the event stream, which has its own token. Requests from this machine need the token, too,
// unless trustLoopback is set.
func (g guard) events(current func() string, trustLoopback bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g, token := g, current()
		if token != "" && !trustLoopback {
			g.local = false
		}
		want := sha256.Sum256([]byte(token))
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		have := sha256.Sum256([]byte(given))
		known := ok && token != "" && subtle.ConstantTimeCompare(have[:], want[:]) == 1
		if !known && !g.allows(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, g.refusal()+"; or the token of events.sse", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g guard) refusal() string {
	if g.keys {
		return operatorsOnly
	}
	return thisMachine
}

// allows reports whether a request is from this machine or from an operator.
func (g guard) allows(r *http.Request) bool {
	if g.trusts(r) {
		return true
	}
	caller, err := g.verified(r)
	return err == nil && caller.Operator()
}

// verified returns the caller who signed a request. The request must have no body.
func (g guard) verified(r *http.Request) (caller awswire.Caller, err error) {
	if r.ContentLength != 0 {
		return caller, errors.New("a signed request must have no body here")
	}
	proof, err := g.auth(r)
	if err != nil {
		return caller, err
	}
	return proof(nil)
}

// trusts reports whether a request comes from this machine and therefore needs no key.
func (g guard) trusts(r *http.Request) bool { return g.local && isLocal(r) }

// isLocal reports whether a request comes from this machine: its source is a loopback address, its Host is a
// loopback name, and it was not forwarded. Checking the name prevents DNS rebinding: a browser on a page
// whose name resolves to 127.0.0.1 sends that name as the Host.
func isLocal(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback() && isLoopbackName(r.Host) && !isForwarded(r)
}

// isLoopbackName reports whether the Host of a request is localhost or a loopback address, with or without a
// port.
func isLoopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// isForwarded reports whether a request came through a proxy of api.proxies, or has a header that proxies
// add.
func isForwarded(r *http.Request) bool {
	if c, ok := r.Context().Value(apiConnKey{}).(*apiConn); ok && c.proxied {
		return true
	}
	for name := range r.Header {
		if name == "Via" || name == "Forwarded" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}
