package player

import "time"

// pauseOf returns how long the current login has to wait. A login that will be refused
// does not wait. At least half of the time remains until the player would lose its seat.
func (a *Actor) pauseOf(m *Login) time.Duration {
	if a.credential == DeadToken {
		return 0
	}
	if s := a.d.machine.State; (s == Attached || s == Detached) && a.o.Rules.Window && a.hasLeft() && !m.late {
		m.late = true
		return leaveWait // ends with the leave, which is final and comes first
	}
	if m.Pause <= 0 {
		return 0
	}
	switch a.d.machine.State {
	case Attached:
		if a.o.Rules.Window {
			return m.Pause
		}
	case Detached:
		return min(m.Pause, a.d.windowUntil.until()/2)
	case Joining:
		if a.joins(m) == JoinAnew { // the game would be asked again
			return min(m.Pause, a.d.reservedUntil.until()/2)
		}
	case Reserved:
		return min(m.Pause, a.d.reservedUntil.until()/2)
	}
	return 0
}

// hasLeft reports whether the player has left in the current epoch.
func (a *Actor) hasLeft() bool { return a.d.Handle.left.Load() == uint64(a.d.machine.Epoch) }

// leaveWait bounds the wait for a leave. It is longer than the game may take to decide on one message before it.
const leaveWait = 11 * time.Second

// pauseLogin has a login wait. It replaces a login that waits already, because the player
// uses the newer connection, and takes over that login's deadline.
func (a *Actor) pauseLogin(c actorContext, m *Login, wait time.Duration) {
	if a.paused != nil {
		a.paused.From.Refuse(RetrySoon)
		if m.late && !a.paused.late { // that one did not wait for the leave
			a.pause.Reset(wait)
		}
	} else {
		a.pause = c.After(wait, pauseOver{})
	}
	a.paused, a.pausedIn = m, a.d.machine.State
}

// admitPaused goes on with the paused login: its pause is over, or the machine's state
// has changed, for example because the connection to be replaced was lost.
func (a *Actor) admitPaused(c actorContext) {
	m := a.paused
	if m == nil {
		return
	}
	a.pause.Stop()
	a.paused = nil
	if m.Pause = 0; !m.From.Gone() {
		a.onLogin(c, m)
	}
}
