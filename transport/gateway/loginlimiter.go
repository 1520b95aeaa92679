package gateway

import (
	"sync"
	"time"

	"troupe/actors/player"
	"troupe/messages"
)

// loginLimiter lets logins in at a bounded rate, so that thousands who come back at
// once do not stall those who play. Who comes back to a player session that is ACTIVE
// goes before who is new, three times of four. Who holds a seat waits for its turn, however
// many are before it: they are bounded by the connections without a login, and a no would
// cost the seat. Others find no place when all are taken; those who understand it are told
// when to come again. Safe for concurrent use; it needs no goroutine, and a timer only while
// somebody waits.
type loginLimiter struct {
	rate  rate
	most  int
	start time.Time

	mu sync.Mutex
	// guarded by mu
	bucket bucket
	back   queue // whose player session is ACTIVE
	fresh  queue
	turns  int
	timer  *time.Timer // running while somebody waits
}

type queue []waiter

// standing is what a login has a right to.
type loginClass uint8

const (
	refusable    loginClass = iota // may be told to come again
	reserved                       // is not sent away
	reconnecting                   // and goes first
)

// standingOf is the standing of a login of a player session. One of the extension that is
// new is told when to come again, which serves it better than a connection without a word.
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

// newLoginLimiter returns a limiter for so many logins per second, 0 for no bound,
// and so many that wait.
func newLoginLimiter(perSecond float64, waiting int) *loginLimiter {
	return &loginLimiter{rate: rate{perSecond, max(1, perSecond/10)}, most: waiting, start: time.Now()}
}

// now is the time on the bucket's clock, which is never 0.
func (t *loginLimiter) now() time.Duration { return time.Since(t.start) + 1 }

// pass calls enter, now or soon, or refuses the login of a guest.
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

// wait is how long n logins take.
func (t *loginLimiter) wait(n int) time.Duration {
	return max(time.Duration(float64(n)/t.rate.perSecond*float64(time.Second)), time.Millisecond)
}

// newEvery is how often somebody new goes before those who come back: a few who come back
// without end must not keep everybody else out.
const newEvery = 4

// turn lets in who may. Who has gone meanwhile costs nobody a turn.
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

// present drops those at the head whose connections have ended.
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
