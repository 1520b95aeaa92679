package gateway

import (
	"sync"
	"time"

	"troupe/actors/player"
	"troupe/messages"
)

// loginLimiter admits logins at a limited rate, so that thousands of reconnecting players do not stall the running games.
// Three of four admitted logins are for player sessions that are ACTIVE, as long as such logins wait. A login of a stock
// client with a RESERVED player session may always wait, however long the queue is, because after a refusal the player
// would lose its seat. Other new logins are refused when the queue is full. A loginLimiter is safe for concurrent use.
type loginLimiter struct {
	rate  rate
	most  int
	start time.Time

	mu sync.Mutex
	// guarded by mu
	bucket bucket
	back   queue // reconnecting players: their player sessions are ACTIVE
	fresh  queue
	turns  int
	timer  *time.Timer // running while logins wait
}

type queue []waiter

// loginClass is the priority of a login.
type loginClass uint8

const (
	refusable    loginClass = iota // refused when the queue is full
	reserved                       // never refused
	reconnecting                   // never refused, and admitted first
)

// loginClassOf returns the class of a login. status is that of its player session. A new login of a client with
// capabilities is refusable, because the refusal tells such a client when to retry.
func loginClassOf(status messages.PlayerSessionStatus, caps uint64) loginClass {
	switch {
	case status == messages.PlayerSessionActive:
		return reconnecting
	case status == messages.PlayerSessionReserved && caps == 0:
		return reserved
	}
	return refusable
}

type waiter struct {
	login *player.Login
	enter func()
}

// newLoginLimiter returns a limiter for perSecond logins per second; 0 means no limit. waiting is the maximum length of its queue.
func newLoginLimiter(perSecond float64, waiting int) *loginLimiter {
	return &loginLimiter{rate: rate{perSecond, max(1, perSecond/10)}, most: waiting, start: time.Now()}
}

// now returns the time on the bucket's clock. It is never 0.
func (t *loginLimiter) now() time.Duration { return time.Since(t.start) + 1 }

// pass calls enter when the login is admitted, possibly before it returns. If the queue is full, it may refuse the login.
func (t *loginLimiter) pass(l *player.Login, s loginClass, enter func()) {
	t.mu.Lock()
	if t.timer == nil && t.bucket.tryTake(t.rate, t.now(), 1) {
		t.mu.Unlock()
		enter()
		return
	}
	waiting := len(t.back) + len(t.fresh)
	refused := s == refusable && t.most > 0 && waiting >= t.most
	switch {
	case refused:
	case s == reconnecting:
		t.back = append(t.back, waiter{l, enter})
	default:
		t.fresh = append(t.fresh, waiter{l, enter})
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(t.wait(1), t.turn)
	}
	after := t.wait(waiting)
	t.mu.Unlock()
	if refused {
		l.From.Refuse(after)
	}
}

// wait returns how long it takes to admit n logins.
func (t *loginLimiter) wait(n int) time.Duration {
	return max(time.Duration(float64(n)/t.rate.perSecond*float64(time.Second)), time.Millisecond)
}

// newEvery reserves one of newEvery admitted logins for new players, so that clients that
// reconnect again and again cannot keep them out.
const newEvery = 4

// turn admits waiting logins. A login whose connection has ended does not use up a token.
func (t *loginLimiter) turn() {
	t.mu.Lock()
	var in []waiter
	for t.back, t.fresh = present(t.back), present(t.fresh); len(t.back)+len(t.fresh) > 0; {
		if !t.bucket.tryTake(t.rate, t.now(), 1) {
			break
		}
		q := &t.back
		if t.turns++; len(*q) == 0 || t.turns%newEvery == 0 && len(t.fresh) > 0 {
			q = &t.fresh
		}
		in = append(in, (*q)[0])
		(*q)[0] = waiter{}
		*q = present((*q)[1:])
	}
	if len(t.back)+len(t.fresh) > 0 {
		t.timer.Reset(t.wait(1))
	} else {
		t.timer = nil
	}
	t.mu.Unlock()
	for _, w := range in {
		w.enter()
	}
}

// present removes logins at the head whose connections have ended.
func present(q queue) queue {
	for len(q) > 0 && q[0].login.From.Gone() {
		q[0] = waiter{}
		q = q[1:]
	}
	if len(q) == 0 {
		return nil
	}
	return q
}
