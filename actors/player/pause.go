package player

import "time"

// pauseOf is how long the login in hand has to wait. One that is refused need not, and of
// the time after which the seat is lost at least half is left.
func (a *Actor) pauseOf(m *Login) time.Duration {
	if m.Pause <= 0 || a.credential == DeadToken {
		return 0
	}
	switch a.d.machine.State {
	case Attached:
		if a.o.Rules.Window {
			return m.Pause
		}
	case Detached:
		return min(m.Pause, time.Until(a.d.windowUntil)/2)
	case Joining:
		if a.joins(m) == JoinAnew { // the game would be asked again
			return min(m.Pause, time.Until(a.d.reservedUntil)/2)
		}
	case Reserved:
		return min(m.Pause, time.Until(a.d.reservedUntil)/2)
	}
	return 0
}

// putOff has a login wait. Of two that wait the newer one stays: it is the connection that
// the player uses. It comes in when the older one would have.
func (a *Actor) putOff(c surroundings, m *Login, wait time.Duration) {
	if a.paused != nil {
		a.paused.From.Refuse(RetrySoon)
	} else {
		a.pause = c.After(wait, pauseOver{})
	}
	a.paused, a.pausedIn = m, a.d.machine.State
}

// admitPaused goes on with the login that was put off: its time is over, or what it
// waited for has changed, like the loss of the connection that it was to replace.
func (a *Actor) admitPaused(c surroundings) {
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
