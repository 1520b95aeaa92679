package stage

import "time"

// Timer sends its owner one message. It stops with its owner, who alone may call its methods.
type Timer struct {
	owner    *guard
	msg      any
	deadline time.Duration // on the shard's clock
	until    time.Duration // if awake: when the timer fires; deadline is the end of the current part
	place    int32         // in the heap of alarms; -1 if not there; guarded by its lock
	awake    bool          // created by AfterAwake
	armed    bool          // and in owner.timers
	// in owner.timers
	before, after *Timer
}

// After sends msg to the actor after d, on the control lane; never once it has stopped. Reset
// starts a timer that has fired or stopped again without allocating.
func (c *Context) After(d time.Duration, msg any) *Timer {
	t := &Timer{owner: (*guard)(c), msg: msg, place: -1}
	if !c.self.mailbox.isClosedFast() {
		t.arm(d)
	}
	return t
}

// AfterAwake is After for peers' deadlines, which none can meet while this process is suspended: it
// waits in parts, and one that ends more than a second late moves the deadline (reliability.md 2.7).
func (c *Context) AfterAwake(d time.Duration, msg any) *Timer {
	until := (*guard)(c).alarms().now() + d
	t := c.After(partOf(d), msg)
	t.awake, t.until = true, until
	return t
}

const (
	// partMin is an awake timer's shortest part, partShare their maximum number: a pause counts from the end of its part.
	partMin   = time.Second
	partShare = 20
	// lateMin is the delay of a part from which it moves the deadline.
	lateMin = time.Second
)

func partOf(d time.Duration) time.Duration { return min(d, max(partMin, d/partShare)) }

// Reset makes the timer fire once, d from now, even if it has fired already; not once the owner stops.
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

// Stop keeps the timer from firing; Reset may start it again. Safe on nil.
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

// disarm takes the timer out of the owner's list.
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

// due reports whether the timer fires now: not if it was stopped or reset meanwhile.
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
