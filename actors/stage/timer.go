package stage

import "time"

// Timer sends one message to its owner. It stops with its owner. Only the owner may call its methods.
type Timer struct {
	owner    *guard
	msg      any
	deadline time.Duration // on the shard's clock
	until    time.Duration // if awake: when the timer fires; deadline is then the end of the current part
	place    int32         // index in the heap of alarms, or -1 if not in it; guarded by alarms.mu
	awake    bool          // created by AfterAwake
	armed    bool          // the timer is running and in owner.timers
	// links in owner.timers
	before, after *Timer
}

// After sends msg to the actor after d, in the control lane. It never does so after the actor has stopped.
// Reset restarts a timer that has fired or was stopped, without allocating.
func (c *Context) After(d time.Duration, msg any) *Timer {
	t := &Timer{owner: (*guard)(c), msg: msg, place: -1}
	if !c.self.mailbox.isClosedFast() {
		t.arm(d)
	}
	return t
}

// Timers returns the number of timers of the actor that are running.
func (c *Context) Timers() (n int) {
	for t := (*guard)(c).timers; t != nil; t = t.after {
		n++
	}
	return n
}

// AfterAwake is After for deadlines of remote peers, which cannot meet them while this process is suspended.
// The timer waits in parts. If a part ends more than lateMin late, the deadline is moved by the delay
// (reliability.md 2.7).
func (c *Context) AfterAwake(d time.Duration, msg any) *Timer {
	until := (*guard)(c).alarms().now() + d
	t := c.After(partOf(d), msg)
	t.awake, t.until = true, until
	return t
}

const (
	// partMin is the minimum length of a part of an awake timer, and partShare the maximum number of parts. A
	// suspension is noticed at the end of a part.
	partMin   = time.Second
	partShare = 20
	// lateMin is the minimum delay of a part that moves the deadline.
	lateMin = time.Second
)

func partOf(d time.Duration) time.Duration { return min(d, max(partMin, d/partShare)) }

// Reset makes the timer fire once, d from now, even if it has fired already. It does nothing if the owner is
// stopping.
func (t *Timer) Reset(d time.Duration) {
	if t.owner.self.mailbox.isClosedFast() {
		return
	}
	if t.awake {
		t.until = t.owner.alarms().now() + d
		d = partOf(d)
	}
	t.arm(d)
}

// Stop prevents the timer from firing. Reset may start it again. A nil timer is allowed.
func (t *Timer) Stop() {
	if t == nil || !t.armed {
		return
	}
	t.disarm()
	t.owner.alarms().remove(t)
}

func (t *Timer) arm(d time.Duration) {
	if !t.armed {
		g := t.owner
		t.armed, t.after = true, g.timers
		if g.timers != nil {
			g.timers.before = t
		}
		g.timers = t
	}
	a := t.owner.alarms()
	t.deadline = a.now() + d
	a.set(t, t.deadline)
}

// disarm removes the timer from the owner's list.
func (t *Timer) disarm() {
	if t.after != nil {
		t.after.before = t.before
	}
	if t.before != nil {
		t.before.after = t.after
	} else {
		t.owner.timers = t.after
	}
	t.armed, t.before, t.after = false, nil, nil
}

// due reports whether the timer must fire now. It returns false if the timer was stopped or reset after it
// was sent.
func (t *Timer) due() bool {
	now := t.owner.alarms().now()
	if !t.armed || now < t.deadline {
		return false
	}
	if !t.awake {
		return true
	}
	if late := now - t.deadline; late > lateMin {
		t.until += late
	}
	left := t.until - now
	if left <= 0 {
		return true
	}
	t.arm(partOf(left))
	return false
}
