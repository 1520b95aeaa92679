package gateway

import (
	"math"
	"sync"
	"time"

	"troupe/actors/player"
)

// bucket is a token bucket that may go into debt. Its rate is kept outside, so that a player costs 16 bytes per bucket. Not safe for
// concurrent use.
type bucket struct {
	tokens float64
	at     time.Duration // when it was last filled, on the gateway's clock; 0 never
}

// rate is the fill rate and the size of a bucket. A rate of 0 is no bound.
type rate struct{ perSecond, burst float64 }

// take spends n tokens, and returns how long it takes to fill the debt; 0 if there is none.
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

// tryTake spends n tokens if the bucket has them.
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

// inputRates are the rates of inputRate.
type inputRates struct{ messages, bytes, groups, signs rate }

func ratesOf(l Limits) inputRates {
	return inputRates{
		messages: rate{l.MessagesPerSecond, max(l.MessageBurst, 1)},
		bytes:    rate{l.BytesPerSecond, l.BytesPerSecond},
		groups:   rate{l.GroupOpsPerSecond, max(l.GroupOpsPerSecond, 1)},
		signs:    rate{signFactor * l.MessagesPerSecond, max(signFactor*l.MessageBurst, 1)},
	}
}

// signFactor is the rate of signs of life, as a multiple of the message rate.
const signFactor = 2.5

// inputRate bounds one player's input over its channels. The WebSocket reader and the UDP reader share it.
type inputRate struct {
	mu sync.Mutex
	// guarded by mu
	messages, bytes, groups, signs bucket
	overSince                      time.Duration // 0: not over
	waits                          time.Duration // when the wait of the last delayed message ends
}

// restAfter is how long a player's messages must pass without waiting until it counts as within its rate again: far longer than the
// tokens that gather when a reader is woken late.
const restAfter = time.Second

// reliable admits a reliable packet that counts as cost messages, and returns how long it has to wait, and has been over its rate.
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

// fast reports whether a message of the fast channel is admitted.
func (i *inputRate) fast(r *inputRates, now time.Duration, size int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.messages.tryTake(r.messages, now, 1) && i.bytes.tryTake(r.bytes, now, float64(size))
}

// sign counts a sign of life and returns how long the reader has to wait.
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

// roomShare is one player's share of its game session's Inflow. Only the reader of the reliable channel uses it, so it needs no lock.
type roomShare struct{ b bucket }

// take counts a reliable packet for the game session, and returns how long this player has to wait, readPauseMax at most.
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

// attempts counts events per key and minute. Safe for concurrent use. After attemptKeysMax keys it forgets the counts of the previous
// minute.
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

// over reports whether key has used up its limit. Counts of the previous minute decay linearly.
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
