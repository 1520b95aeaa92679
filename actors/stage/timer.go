package stage

import "time"

// Timer sends its owner a message once. It dies with its owner. Its methods are
// for the owner only.
type Timer struct {
	owner    *guard
	msg      any
	runtime  *time.Timer
	deadline time.Time
	live     bool
	index    int // in owner.timers; -1 when not there
}

// After sends msg to the actor itself after d, on the control lane. One that
// has fired or is stopped is forgotten; Reset brings it back without allocating.
// Once the actor stops it never fires.
func (c *Context) After(d time.Duration, msg any) *Timer {
	t := &Timer{owner: c.guard, msg: msg, index: -1}
	mailbox := &c.guard.self.mailbox
	if mailbox.isClosedFast() {
		return t
	}
	t.arm(d)
	t.runtime = time.AfterFunc(d, func() { mailbox.postControl(t) })
	return t
}

// Reset has the timer fire d from now, whether it has fired or not, and only
// then. It does nothing once the owner stops.
func (t *Timer) Reset(d time.Duration) {
	if t.owner.self.mailbox.isClosedFast() {
		return
	}
	t.arm(d)
	t.runtime.Reset(d)
}

// Stop keeps the timer from firing; Reset may start it again. Safe on nil.
func (t *Timer) Stop() {
	if t == nil || !t.live {
		return
	}
	t.disarm()
	t.runtime.Stop()
}

func (t *Timer) arm(d time.Duration) {
	t.deadline = time.Now().Add(d)
	t.live = true
	if t.index < 0 {
		t.index = len(t.owner.timers)
		t.owner.timers = append(t.owner.timers, t)
	}
}

func (t *Timer) disarm() {
	t.live = false
	if g := t.owner; t.index >= 0 {
		last := len(g.timers) - 1
		g.timers[t.index] = g.timers[last]
		g.timers[t.index].index = t.index
		g.timers[last] = nil
		g.timers = g.timers[:last]
		t.index = -1
	}
}

// due reports whether a firing that arrives now counts: one from before a Stop
// or a Reset does not.
func (t *Timer) due() bool { return t.live && !time.Now().Before(t.deadline) }
