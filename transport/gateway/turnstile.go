package gateway

import (
	"sync"
	"time"

	"troupe/actors/player"
)

// turnstile lets logins in at a bounded rate, so that thousands who come back at
// once do not stall those who play. Who comes back with a token goes before who
// is new, three times of four, and takes its place if all are taken; the token is
// checked later, by the player. Who finds no place is told when to come again. Safe for concurrent
// use; it needs no goroutine, and a timer only while somebody waits, which is
// never longer than the queue at its rate.
type turnstile struct {
	rate  rate
	most  int
	start time.Time

	mu sync.Mutex
	// guarded by mu
	bucket bucket
	back   queue // with a reconnect token
	fresh  queue
	turns  int
	timer  *time.Timer // running while somebody waits
}

type queue []waiter

type waiter struct {
	login *player.Login
	enter func()
}

// newTurnstile returns a turnstile for so many logins per second, 0 for no bound,
// and so many that wait.
func newTurnstile(perSecond float64, waiting int) *turnstile {
	return &turnstile{rate: rate{perSecond, max(1, perSecond/10)}, most: waiting, start: time.Now()}
}

// now is the time on the bucket's clock, which is never 0.
func (t *turnstile) now() time.Duration { return time.Since(t.start) + 1 }

// pass calls enter, now or soon, or refuses the login.
func (t *turnstile) pass(l *player.Login, enter func()) {
	t.mu.Lock()
	if t.timer == nil && t.bucket.tryTake(t.rate, t.now(), 1) {
		t.mu.Unlock()
		enter()
		return
	}
	waiting := len(t.back) + len(t.fresh)
	refused := t.queue(waiter{l, enter}, t.most > 0 && waiting >= t.most)
	if t.timer == nil {
		t.timer = time.AfterFunc(t.wait(1), t.turn)
	}
	after := t.wait(waiting)
	t.mu.Unlock()
	if refused != nil {
		refused.From.Refuse(after)
	}
}

// queue has a login wait and returns the one that must not: itself if all places
// are taken, or the last one that is new if it comes back.
func (t *turnstile) queue(w waiter, full bool) (refused *player.Login) {
	switch last := len(t.fresh) - 1; {
	case w.login.Token == "" && full, full && last < 0:
		return w.login
	case w.login.Token == "":
		t.fresh = append(t.fresh, w)
		return nil
	case full:
		refused = t.fresh[last].login
		t.fresh[last] = waiter{}
		t.fresh = t.fresh[:last]
	}
	t.back = append(t.back, w)
	return refused
}

// wait is how long n logins take.
func (t *turnstile) wait(n int) time.Duration {
	return max(time.Duration(float64(n)/t.rate.perSecond*float64(time.Second)), time.Millisecond)
}

// newEvery is how often somebody new goes before those who come back: a crowd
// with made-up tokens must not keep everybody else out.
const newEvery = 4

// turn lets in who may. Who has gone meanwhile costs nobody a turn.
func (t *turnstile) turn() {
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
