package gateway

import (
	"sync"
	"time"
)

// bucket is a token bucket that may go into debt. Not safe for concurrent use.
type bucket struct {
	perSecond, burst float64
	tokens           float64
	at               time.Time
}

func newBucket(perSecond, burst float64) bucket {
	return bucket{perSecond: perSecond, burst: burst, tokens: burst}
}

// take spends n tokens and returns how long to wait until they are there; 0
// when the bucket had them or is off.
func (b *bucket) take(now time.Time, n float64) time.Duration {
	if b.perSecond <= 0 {
		return 0
	}
	b.fill(now)
	b.tokens -= n
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.perSecond * float64(time.Second))
}

// tryTake spends n tokens only if they are there.
func (b *bucket) tryTake(now time.Time, n float64) bool {
	if b.perSecond <= 0 {
		return true
	}
	b.fill(now)
	if b.tokens < n {
		return false
	}
	b.tokens -= n
	return true
}

func (b *bucket) fill(now time.Time) {
	if !b.at.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.perSecond)
	}
	b.at = now
}

// inputRate bounds one player's input over its channels. The WebSocket reader
// and the UDP reader share it.
type inputRate struct {
	mu sync.Mutex
	// guarded by mu
	messages, bytes, groups bucket
	overSince               time.Time
}

func (r *inputRate) init(l Limits) {
	r.messages = newBucket(l.MessagesPerSecond, max(l.MessageBurst, 1))
	r.bytes = newBucket(l.BytesPerSecond, l.BytesPerSecond)
	r.groups = newBucket(l.GroupOpsPerSecond, l.GroupOpsPerSecond)
}

// reliable admits a reliable message, after a wait if that is not 0. Over tells
// for how long the player has been waiting without a break.
func (r *inputRate) reliable(now time.Time, size int) (wait, over time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait = max(r.messages.take(now, 1), r.bytes.take(now, float64(size)))
	if wait == 0 {
		r.overSince = time.Time{}
		return 0, 0
	}
	if r.overSince.IsZero() {
		r.overSince = now
	}
	return wait, now.Sub(r.overSince)
}

// fast admits a message of the fast channel, or not.
func (r *inputRate) fast(now time.Time, size int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages.tryTake(now, 1) && r.bytes.tryTake(now, float64(size))
}

func (r *inputRate) groupOp(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.groups.tryTake(now, 1)
}

// attempts counts events per key and minute. Safe for concurrent use; bounded
// by attemptKeysMax keys, beyond which the oldest minute is forgotten at once.
type attempts[K comparable] struct {
	most int // per minute; 0 is no bound

	mu sync.Mutex
	// guarded by mu: two generations of one minute each
	start     time.Time
	now, last map[K]int
}

const attemptKeysMax = 1 << 16

func newAttempts[K comparable](most int) *attempts[K] {
	return &attempts[K]{most: most, now: make(map[K]int), last: make(map[K]int)}
}

// over reports whether key has had its share of the last minute. The count
// decays linearly over the minute before.
func (a *attempts[K]) over(now time.Time, key K) bool {
	if a.most <= 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(now)
	share := 1 - min(1, now.Sub(a.start).Seconds()/60)
	return float64(a.now[key])+float64(a.last[key])*share >= float64(a.most)
}

func (a *attempts[K]) add(now time.Time, key K) {
	if a.most <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(now)
	if len(a.now) >= attemptKeysMax {
		a.last, a.now = a.now, make(map[K]int)
	}
	a.now[key]++
}

func (a *attempts[K]) turn(now time.Time) {
	switch age := now.Sub(a.start); {
	case age >= 2*time.Minute:
		a.now, a.last, a.start = make(map[K]int), make(map[K]int), now
	case age >= time.Minute:
		a.last, a.now, a.start = a.now, make(map[K]int), a.start.Add(time.Minute)
	}
}
