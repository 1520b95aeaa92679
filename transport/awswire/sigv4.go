package awswire

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Codes of service-api.md 1.3 for requests whose caller is refused.
const (
	missingToken       = "MissingAuthenticationTokenException"
	incomplete         = "IncompleteSignatureException"
	unrecognizedClient = "UnrecognizedClientException"
	invalidSignature   = "InvalidSignatureException"
	accessDenied       = "AccessDeniedException"
	throttled          = "ThrottlingException"
)

const (
	// DefaultSkew is the maximum error of a caller's clock (D-201).
	DefaultSkew = 5 * time.Minute

	scopeService = "gamelift"
	scopeEnd     = "aws4_request"
	algorithm    = "AWS4-HMAC-SHA256"
	dateForm     = "20060102T150405Z"

	unsignedPayload = "UNSIGNED-PAYLOAD"
)

// SigV4Options configures a SigV4.
type SigV4Options struct {
	Keys       []Key            // access keys of callers; at least one
	Operations []string         // names of the service's operations, for keys with an Allow list
	Regions    []string         // regions that a credential scope may name; at least one
	Skew       time.Duration    // maximum difference between X-Amz-Date and Now; default DefaultSkew
	Now        func() time.Time // default time.Now
}

// SigV4 verifies requests signed with Signature Version 4 (service-api.md 1.4). It is safe for concurrent
// use.
type SigV4 struct {
	keys    map[string]*accessKey
	regions []string
	skew    time.Duration
	now     func() time.Time
}

// NewSigV4 validates the options and returns a SigV4.
func NewSigV4(o SigV4Options) (*SigV4, error) {
	v := &SigV4{regions: o.Regions, skew: cmp.Or(o.Skew, DefaultSkew), now: o.Now}
	if v.now == nil {
		v.now = time.Now
	}
	switch {
	case v.skew < 0:
		return nil, fmt.Errorf("awswire: a clock skew of %v", v.skew)
	case len(o.Regions) == 0:
		return nil, fmt.Errorf("awswire: no region to verify signatures for")
	case len(o.Keys) == 0:
		return nil, fmt.Errorf("awswire: no access key to verify signatures with")
	}
	var err error
	v.keys, err = newAccessKeys(o.Keys, o.Operations)
	return v, err
}

// Authenticate is an Authenticator. It checks headers, key, scope and clock before the body is read. The time
// it takes may reveal that a key is unknown, because the error code says so as well. Secrets and tokens are
// compared in constant time.
func (v *SigV4) Authenticate(r *http.Request) (Proof, error) {
	q, err := parseSigned(r)
	if err != nil {
		return nil, err
	}
	key, known := v.keys[q.keyID]
	if !known || !sameText(q.token, key.token) {
		return nil, refuse(unrecognizedClient, "The security token included in the request is invalid.")
	}
	if err := v.checkScope(q); err != nil {
		return nil, err
	}
	if err := v.checkClock(q, r); err != nil {
		return nil, err
	}
	if err := q.checkSignedHeaders(r); err != nil {
		return nil, err
	}
	return func(body []byte) (Caller, error) {
		payload, err := v.payload(r, body)
		if err != nil {
			return Caller{}, err
		}
		canonical, err := q.canonicalRequest(r, payload)
		if err != nil {
			return Caller{}, err
		}
		if !hmac.Equal(q.sign(key.secret, canonical), q.signature) {
			return Caller{}, refuse(invalidSignature, "The request signature we calculated does not match the signature you provided. "+
				"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
		}
		return Caller{AccessKey: q.keyID, Region: q.region, key: key}, nil
	}, nil
}

func (v *SigV4) checkScope(q *signed) error {
	switch {
	case q.service != scopeService:
		return refuse(invalidSignature, "Credential should be scoped to correct service: '%s'. ", scopeService)
	case !slices.Contains(v.regions, q.region):
		return refuse(invalidSignature, "Credential should be scoped to a valid region, and this host has no region %q. ", Clip(q.region))
	}
	return nil
}

// checkClock checks the caller's clock. Clients recognize the error text: they correct their clock with the
// Date header and retry. The Go SDK retries within the same call only if the error code says that the clock
// is wrong.
func (v *SigV4) checkClock(q *signed, r *http.Request) error {
	code := func(forGo string) string {
		if strings.Contains(r.UserAgent(), "aws-sdk-go-v2/") {
			return forGo
		}
		return invalidSignature
	}
	now := v.now().UTC()
	minutes := fmt.Sprintf("%g min.", v.skew.Minutes())
	if earliest := now.Add(-v.skew); q.time.Before(earliest) {
		return refuse(code("RequestExpired"), "Signature expired: %s is now earlier than %s (%s - %s)",
			q.date, earliest.Format(dateForm), now.Format(dateForm), minutes)
	}
	if latest := now.Add(v.skew); q.time.After(latest) {
		return refuse(code("RequestInTheFuture"), "Signature not yet current: %s is still later than %s (%s + %s)",
			q.date, latest.Format(dateForm), now.Format(dateForm), minutes)
	}
	return nil
}

// payload returns the last line of the canonical request: the hash of the body, or the marker of an unsigned
// body. It refuses an X-Amz-Content-Sha256 header that does not match the body.
func (v *SigV4) payload(r *http.Request, body []byte) (string, error) {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	switch said := r.Header.Get(headerPayload); {
	case said == "" || sameText(said, hash):
		return hash, nil
	case said != unsignedPayload:
		return "", refuse(invalidSignature, "The value of x-amz-content-sha256 is not the hash of the request body.")
	case r.TLS == nil: // without TLS, others on the network could change an unsigned body
		return "", refuse(invalidSignature, "The request body must be signed: %s is not allowed without TLS.", unsignedPayload)
	}
	return unsignedPayload, nil
}

// sign performs steps 6 and 7 of service-api.md 1.4.
func (q *signed) sign(secret, canonical string) []byte {
	sum := sha256.Sum256([]byte(canonical))
	scope := q.date[:8] + "/" + q.region + "/" + q.service + "/" + scopeEnd
	key := []byte("AWS4" + secret)
	for _, part := range []string{q.date[:8], q.region, q.service, scopeEnd} {
		key = hmacOf(key, part)
	}
	return hmacOf(key, algorithm+"\n"+q.date+"\n"+scope+"\n"+hex.EncodeToString(sum[:]))
}

func hmacOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// sameText compares secrets. The time it takes depends only on their lengths.
func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func refuse(code, format string, args ...any) error {
	return BadRequest(code, fmt.Sprintf(format, args...))
}
