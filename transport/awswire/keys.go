package awswire

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Key is an access key with its permissions and limits.
type Key struct {
	ID           string // 3 to 128 letters, digits, hyphens and underscores
	Secret       string // at least 16 characters
	SessionToken string // if set, callers must send it; if empty, callers must send none
	// Allow are patterns of the operations that the key may call, such as gamelift:Describe*. The wildcards
	// are * and ?. Empty means all operations.
	Allow []string
	// Rate is the average number of calls per second, and Burst the burst. A rate of 0 means no limit.
	Rate  float64
	Burst int
}

const secretMin = 16

var (
	keyIDForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9_-]{3,128}\z`) })
	allowForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9*?]+\z`) })
)

// Validate checks a key for a service with the given operations. Its error never contains a secret.
func (k *Key) Validate(operations []string) error {
	switch {
	case !keyIDForm().MatchString(k.ID):
		return fmt.Errorf("id must be 3 to 128 letters, digits, hyphens and underscores")
	case len(k.Secret) < secretMin:
		return fmt.Errorf("the secret must have at least %d characters", secretMin)
	case k.Rate < 0 || math.IsNaN(k.Rate) || math.IsInf(k.Rate, 0):
		return fmt.Errorf("the rate must be a number of calls a second, or 0 for no limit")
	case k.Rate > 0 && k.Burst < 1:
		return fmt.Errorf("the burst must be at least 1")
	}
	for _, pattern := range k.Allow {
		if err := checkAllow(pattern, operations); err != nil {
			return err
		}
	}
	return nil
}

// Allows reports whether the key may call an operation.
func (k *Key) Allows(operation string) bool {
	return len(k.Allow) == 0 || slices.ContainsFunc(k.Allow, func(pattern string) bool {
		return matches(strings.TrimPrefix(pattern, scopeService+":"), operation)
	})
}

// checkAllow returns an error if a pattern is malformed, or matches no operation and is therefore probably
// misspelled.
func checkAllow(pattern string, operations []string) error {
	glob, ok := strings.CutPrefix(pattern, scopeService+":")
	if !ok || !allowForm().MatchString(glob) {
		return fmt.Errorf("allow: %q must be like gamelift:Describe*", Clip(pattern))
	}
	if slices.ContainsFunc(operations, func(name string) bool { return matches(glob, name) }) {
		return nil
	}
	return fmt.Errorf("allow: %q is no operation", Clip(pattern))
}

func matches(glob, operation string) bool {
	ok, err := path.Match(glob, operation)
	return ok && err == nil
}

// NewKey returns the id and the secret of a new random access key.
func NewKey() (id, secret string) {
	var random [10 + 30]byte
	_, _ = rand.Read(random[:]) // never fails
	return "TRPE" + base32.StdEncoding.EncodeToString(random[:10]), base64.RawURLEncoding.EncodeToString(random[10:])
}

type accessKey struct {
	id, secret, token string
	allowed           map[string]bool // allowed operations; nil means all
	rate              *rate.Limiter   // nil means no limit
}

func newAccessKeys(keys []Key, operations []string) (map[string]*accessKey, error) {
	all := make(map[string]*accessKey, len(keys))
	for _, k := range keys {
		if err := k.Validate(operations); err != nil {
			return nil, fmt.Errorf("awswire: access key %q: %w", Clip(k.ID), err)
		}
		if all[k.ID] != nil {
			return nil, fmt.Errorf("awswire: access key %q is there twice", k.ID)
		}
		a := &accessKey{id: k.ID, secret: k.Secret, token: k.SessionToken}
		if k.Rate > 0 {
			a.rate = rate.NewLimiter(rate.Limit(k.Rate), k.Burst)
		}
		if len(k.Allow) > 0 {
			a.allowed = make(map[string]bool)
			for _, name := range operations {
				a.allowed[name] = k.Allows(name)
			}
		}
		all[k.ID] = a
	}
	return all, nil
}

// admit returns an error if the caller may not call the operation, or has exceeded its rate.
func (c Caller) admit(operation string, now time.Time) error {
	switch {
	case c.key == nil:
		return nil
	case !c.Allowed(operation):
		return BadRequest(accessDenied, fmt.Sprintf("the access key %s may not call gamelift:%s", c.key.id, operation))
	case c.key.rate != nil && !c.key.rate.AllowN(now, 1):
		return Throttled("Rate exceeded")
	}
	return nil
}
