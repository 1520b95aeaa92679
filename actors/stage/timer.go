package stage

import "time"

// Timer sends its owner one message. It stops with its owner. Only the owner may call its
// methods.
type Timer struct {
	owner    *guard
	msg      any
	runtime  *time.Timer
	deadline time.Time
	live     bool
	awake    bool      // created by AfterAwake
	until    time.Time // if awake: when the timer fires; deadline is the end of the current part
	index    int       // in owner.timers; -1 if not armed
}

// After sends msg to the actor itself after d, on the control lane. Reset starts a timer that
// has fired or stopped again without allocating. A timer never fires after its actor has
// stopped.
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

// AfterAwake is After for deadlines of peers, which cannot meet a deadline while this process
// is suspended or delayed. It waits in parts; a part that ends more than a second late moves
// the deadline by the delay (reliability.md 2.7).
func (c *Context) AfterAwake(d time.Duration, msg any) *Timer {
	until := time.Now().Add(d)
	t := c.After(partOf(d), msg)
	t.awake, t.until = true, until
	return t
}

const (
	// partMin is the shortest part of an awake timer, and partShare the maximum number of
	// parts: a pause counts from the end of the part in which it begins.
	partMin   = time.Second
	partShare = 20
	// lateMin is the delay of a part from which it moves the deadline.
	lateMin = time.Second
)

func partOf(d time.Duration) time.Duration { return min(d, max(partMin, d/partShare)) }

// Reset makes the timer fire once, d from now, even if it has fired already. It does nothing
// once the owner stops.
func (t *Timer) Reset(d time.Duration) {
	if t.owner.self.mailbox.isClosedFast() {
		return
	}
	if t.awake {
		t.until = time.Now().Add(d)
		d = partOf(d)
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

// due reports whether the timer fires now: not if it was stopped or reset meanwhile.
func (t *Timer) due() bool {
	now := time.Now()
	if !t.live || now.Before(t.deadline) {
		return false
	}
	if !t.awake {
		return true
	}
	if late := now.Sub(t.deadline); late > lateMin {
		t.until = t.until.Add(late)
	}
	left := t.until.Sub(now)
	if left <= 0 {
		return true
	}
	t.arm(partOf(left))
	t.runtime.Reset(partOf(left))
	return false
}
