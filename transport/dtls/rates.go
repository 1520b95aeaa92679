package dtls

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// sourceBuckets is the number of token buckets. Addresses share them by hash, so forged addresses use no additional memory.
const sourceBuckets = 4096

// sourceRates limits new handshakes per source. It is not safe for concurrent use.
type sourceRates struct {
	rate    float64 // handshakes per second; a bucket holds the tokens of one second, at least one
	seed    maphash.Seed
	buckets [sourceBuckets]struct {
		spent float64 // tokens in use at the time at
		at    time.Time
	}
}

func newSourceRates(rate float64) *sourceRates {
	return &sourceRates{rate: rate, seed: maphash.MakeSeed()}
}

// has reports whether a source's bucket has a token. A nil sourceRates always has one.
func (s *sourceRates) has(source netip.Prefix, now time.Time) bool {
	if s == nil {
		return true
	}
	b := &s.buckets[s.bucket(source)]
	b.spent = max(0, b.spent-now.Sub(b.at).Seconds()*s.rate)
	b.at = now
	return b.spent+1 <= max(1, s.rate)
}

// take takes the token that the last call of has reported.
func (s *sourceRates) take(source netip.Prefix) {
	if s != nil {
		s.buckets[s.bucket(source)].spent++
	}
}

func (s *sourceRates) bucket(source netip.Prefix) uint64 {
	return maphash.Comparable(s.seed, source) % sourceBuckets
}
