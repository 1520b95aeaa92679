package host

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"troupe/transport/awswire"
	"troupe/transport/serviceapi"
)

const (
	authSigV4 = "sigv4"
	authNone  = "none"
)

func (a *API) signed() bool { return a.Auth == authSigV4 || a.Auth == "" && len(a.Keys) > 0 }

func (v *checks) api(c *Config) {
	a := &c.API
	v.addr("api.addr", a.Addr)
	v.that("api.auth", a.Auth == "" || a.Auth == authSigV4 || a.Auth == authNone, "must be sigv4, none or empty")
	v.that("api.skew", a.Skew >= time.Second && a.Skew <= 24*time.Hour, "must be 1s to 24h")
	v.that("api.rate", a.Rate >= 0, "must not be negative; 0 switches it off")
	v.that("api.burst", a.Burst >= 1, "must be at least 1")
	v.that("api.keys", a.Auth != authSigV4 || len(a.Keys) > 0, "must have at least one key with api.auth sigv4")
	switch out := c.offLoopback(); {
	case loopback(a.Addr):
		v.that("api.keys", a.Auth != "" || a.signed() || out == "", fmt.Sprintf("must be set, as %s is not on loopback (or api.auth: none, "+
			"if everybody on this machine may call the service API)", out))
	case !a.signed():
		v.that("api.addr", false, "must be a loopback address: requests are not authenticated (set api.keys)")
	default:
		v.that("api.addr", a.TLS || a.Insecure, "must be a loopback address without TLS (set api.tls, or api.insecure if something in front of it encrypts)")
	}
	v.keys(a)
}

func (v *checks) keys(a *API) {
	seen := map[string]bool{}
	for i := range a.Keys {
		k, key := &a.Keys[i], fmt.Sprintf("api.keys[%d]", i)
		v.once(seen, key+".id", k.ID)
		v.that(key+".rate", k.Rate >= 0 || k.Rate == -1, "must not be negative; -1 switches it off")
		v.that(key+".burst", k.Burst >= 0, "must not be negative")
		v.secret(key, k.Secret, k.SecretFile, k.SecretEnv)
		v.that(key, k.Secret != "" || k.SecretFile != "" || k.SecretEnv != "", "must have one of secret, secretFile and secretEnv")
		if k.Secret != "" && k.SecretFile == "" { // a secret in a file is checked at the start, when the file is read
			made := a.made(k, k.Secret)
			v.err(key, made.Validate(serviceapi.Operations()))
		}
	}
}

// offLoopback returns the configuration key of the first listener that is not bound to loopback, or "" if all
// are.
func (c *Config) offLoopback() string {
	for _, l := range []struct{ key, addr string }{
		{"websocket.addr", c.WebSocket.Addr}, {"fast.addr", c.Fast.Addr}, {"wss.addr", c.WSS.Addr}, {"dtls.addr", c.DTLS.Addr}, {"kcp.addr", c.KCP.Addr},
	} {
		if l.addr != "" && !loopback(l.addr) {
			return l.key
		}
	}
	return ""
}

// Limits returns the rate limit of a key in calls per second, and its burst. A rate of 0 means no limit.
func (a *API) Limits(k *APIKey) (rate float64, burst int) {
	rate, burst = cmp.Or(k.Rate, a.Rate), cmp.Or(k.Burst, a.Burst)
	return max(rate, 0), burst
}

// made converts a key to the type of package awswire.
func (a *API) made(k *APIKey, secret string) awswire.Key {
	rate, burst := a.Limits(k)
	return awswire.Key{ID: k.ID, Secret: secret, SessionToken: k.SessionToken, Allow: k.Allow, Rate: rate, Burst: burst}
}

// thisMachineOnly is the Authenticator of a host without access keys. It applies the same rule as the
// operator's pages: see isLocal.
func thisMachineOnly(r *http.Request) (awswire.Proof, error) {
	if !isLocal(r) {
		return nil, awswire.BadRequest("AccessDeniedException", "without access keys the service API is for callers on this machine that ask for it by localhost or a loopback address and not through a proxy (set api.keys)")
	}
	return awswire.Anyone(r)
}

// authenticator returns the Authenticator for keys.
func (c *Config) authenticator(keys []awswire.Key) (awswire.Authenticator, error) {
	a := &c.API
	if !a.signed() {
		return thisMachineOnly, nil
	}
	v, err := awswire.NewSigV4(awswire.SigV4Options{Operations: serviceapi.Operations(), Regions: []string{c.Region}, Skew: a.Skew, Keys: keys})
	if err != nil {
		return nil, fmt.Errorf("host: api.keys: %w", err)
	}
	return v.Authenticate, nil
}
