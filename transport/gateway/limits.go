package gateway

import (
	"math"
	"sync"
	"time"

	"troupe/actors/player"
)

// bucket is a token bucket that may have a negative balance. The caller passes its rate to each call, so a bucket has
// only 16 bytes. It is not safe for concurrent use.
type bucket struct {
	tokens float64
	at     time.Duration // when it was last filled, on the gateway's clock; 0 if never
}

// rate is the fill rate and the size of a bucket. A perSecond of 0 means no limit.
type rate struct{ perSecond, burst float64 }

// take spends n tokens. If the balance is negative after that, it returns how long it takes to refill it to 0, otherwise 0.
func (b *bucket) take(r rate, now time.Duration, n float64) time.Duration {
	if r.perSecond <= 0 {
		return 0
	}
	b.fill(r, now)
	b.tokens -= n
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(math.Ceil(-b.tokens / r.perSecond * float64(time.Second)))
}

// tryTake spends n tokens if the bucket has them, and reports whether it did.
func (b *bucket) tryTake(r rate, now time.Duration, n float64) bool {
	if r.perSecond <= 0 {
		return true
	}
	b.fill(r, now)
	if b.tokens < n {
		return false
	}
	b.tokens -= n
	return true
}

func (b *bucket) fill(r rate, now time.Duration) {
	if b.at == 0 {
		b.tokens = r.burst
	} else {
		b.tokens = min(r.burst, b.tokens+max(now-b.at, 0).Seconds()*r.perSecond)
	}
	b.at = max(now, 1)
}

// inputRates are the rates of the buckets of an inputRate.
type inputRates struct{ messages, bytes, groups, signs rate }

func ratesOf(l Limits) inputRates {
	return inputRates{
		messages: rate{l.MessagesPerSecond, max(l.MessageBurst, 1)},
		bytes:    rate{l.BytesPerSecond, l.BytesPerSecond},
		groups:   rate{l.GroupOpsPerSecond, max(l.GroupOpsPerSecond, 1)},
		signs:    rate{signFactor * l.MessagesPerSecond, max(signFactor*l.MessageBurst, 1)},
	}
}

// signFactor is the rate limit for signs of life, as a multiple of the message rate.
const signFactor = 2.5

// inputRate limits one player's input over all its channels. The readers of the WebSocket and of the fast channel share it.
type inputRate struct {
	mu sync.Mutex
	// guarded by mu
	messages, bytes, groups, signs bucket
	overSince                      time.Duration // since when the player has been over its rate; 0 if it is not
	waits                          time.Duration // until when the last delayed message waits
}

// restAfter is how long a player's messages must pass without waiting before the player counts as within its rate again.
// It must be much longer than the delay with which a reader may be woken, because tokens accumulate in that time.
const restAfter = time.Second

// reliable admits a reliable packet that counts as cost messages. It returns how long the packet must wait, and for
// how long the player has been over its rate.
func (i *inputRate) reliable(r *inputRates, now time.Duration, cost float64, size int) (wait, over time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	wait = max(i.messages.take(r.messages, now, cost), i.bytes.take(r.bytes, now, float64(size)))
	if wait == 0 {
		if now-i.waits >= restAfter {
			i.overSince = 0
		}
		return 0, 0
	}
	if i.overSince == 0 {
		i.overSince = max(now, 1)
	}
	i.waits = now + wait
	return wait, now - i.overSince
}

// fast reports whether a message of the fast channel is admitted. It does not wait.
func (i *inputRate) fast(r *inputRates, now time.Duration, size int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.messages.tryTake(r.messages, now, 1) && i.bytes.tryTake(r.bytes, now, float64(size))
}

// sign counts a sign of life and returns how long the reader must wait.
func (i *inputRate) sign(r *inputRates, now time.Duration) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.signs.take(r.signs, now, 1)
}

func (i *inputRate) groupOp(r *inputRates, now time.Duration) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.groups.tryTake(r.groups, now, 1)
}

// roomShare is one player's share of its game session's Inflow. It needs no lock, because only
// the reader of the reliable channel uses it.
type roomShare struct{ b bucket }

// take counts a reliable packet for the game session. It returns how long this player must wait, at most readPauseMax.
func (s *roomShare) take(f *player.Inflow, now time.Duration, size int) (wait time.Duration) {
	if f == nil {
		return 0
	}
	over := f.Take(now, size)
	share := f.Share()
	wait = s.b.take(rate{share, share}, now, float64(size))
	s.b.tokens = max(s.b.tokens, -share)
	if !over {
		return 0
	}
	return min(wait, readPauseMax)
}

// attempts counts events per key and minute. After attemptKeysMax keys in one minute it drops the counts of the
// previous minute. It is safe for concurrent use.
type attempts[K comparable] struct {
	most int // limit per minute; 0 for no limit

	mu sync.Mutex
	// guarded by mu: the counts of the current and of the previous minute
	start     time.Time
	now, last map[K]int
}

const attemptKeysMax = 1 << 16

func newAttempts[K comparable](most int) *attempts[K] {
	return &attempts[K]{most: most, now: make(map[K]int), last: make(map[K]int)}
}

// over reports whether key has reached its limit. The counts of the previous minute decay linearly.
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
