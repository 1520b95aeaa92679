package dtls

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// sourceBuckets is how many token buckets there are. Forged addresses must not
// grow them, so addresses share them by hash.
const sourceBuckets = 4096

// burstSeconds is how many seconds of its rate a bucket holds; at least one handshake.
const burstSeconds = 1

// sourceRates bounds new handshakes per source. Not safe for concurrent use.
type sourceRates struct {
	rate    float64
	seed    maphash.Seed
	buckets [sourceBuckets]struct {
		spent float64 // above what has flown back
		at    time.Time
	}
}

func newSourceRates(rate float64) *sourceRates {
	return &sourceRates{rate: rate, seed: maphash.MakeSeed()}
}

// allow takes one from a source's bucket. Nil allows all.
func (s *sourceRates) allow(source netip.Prefix, now time.Time) bool {
	if s == nil {
		return true
	}
	b := &s.buckets[maphash.Comparable(s.seed, source)%sourceBuckets]
	b.spent = max(0, b.spent-now.Sub(b.at).Seconds()*s.rate)
	b.at = now
	if b.spent+1 > max(1, s.rate*burstSeconds) {
		return false
	}
	b.spent++
	return true
}
