package player

import (
	"time"

	"troupe/messages"
)

// pauseOf returns how long a login must wait. The pause is 0 if the login will be refused anyway. It is at most half of
// the time until the player would lose its reservation or its reconnect window.
func (a *Actor) pauseOf(m *Login) time.Duration {
	if a.credential == DeadToken {
		return 0
	}
	if s := a.d.machine.State; (s == Attached || s == Detached) && a.o.Rules.Window && a.hasLeft() && !m.late {
		m.late = true
		return leaveWait // the leave is final and must be handled first; it ends this pause
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
		if a.joins(m) == JoinAnew { // the gate would have to decide again
			return min(m.Pause, a.d.reservedUntil.until()/2)
		}
	case Reserved:
		return min(m.Pause, a.d.reservedUntil.until()/2)
	}
	return 0
}

// hasLeft reports whether the player has left in the current epoch.
func (a *Actor) hasLeft() bool { return a.d.Handle.left.Load() == uint64(a.d.machine.Epoch) }

// leaveWait limits the wait for a leave. It is longer than the time limit of the game for one message that precedes the
// leave.
const leaveWait = 11 * time.Second

// pauseLogin delays a login. If another login is already paused, the new login replaces it and takes over its deadline,
// because the player uses the newer connection.
func (a *Actor) pauseLogin(c actorContext, m *Login, wait time.Duration) {
	if a.paused != nil {
		a.paused.From.Refuse(RetrySoon)
		if m.late && !a.paused.late { // the earlier login did not wait for the leave
			a.pause.Reset(wait)
		}
	} else {
		a.pause = c.After(wait, pauseOver{})
	}
	a.paused, a.pausedIn = m, a.d.machine.State
}

// admitPaused continues with the paused login. It is called when the pause is over or when the machine's state has
// changed, for example because the old connection was lost.
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

// challengeTime is how long a challenged connection has to give a sign of life (reliability.md 2.6).
const challengeTime = 2 * time.Second

func (a *Actor) onChallengeOver(c actorContext, m challengeOver) {
	if a.hasLeft() { // the Ended message follows and ends the challenge
		return
	}
	e := Event{Kind: ChallengeAnswered, Epoch: m.epoch}
	if a.d.current.Silence() > a.d.challengedAt.since() {
		e.Kind = ChallengeUnanswered
		a.bindChallenger(c, m.epoch)
	}
	a.step(c, e)
}

// bindChallenger binds the challenger's connection before the connection of epoch e is dropped. If the challenger's
// connection has ended, the challenge ends too.
func (a *Actor) bindChallenger(c actorContext, e messages.Epoch) {
	if !a.d.machine.Challenged || e != a.d.machine.Epoch || a.d.challenger.From.Bind(a.attachment(e+1, a.d.challenger)) {
		return
	}
	a.d.challenger = nil
	a.challenge.Stop()
	a.step(c, Event{Kind: ChallengerGone})
}

func (a *Actor) refuseChallenger(after time.Duration) {
	if a.d.challenger != nil {
		a.d.challenger.From.Refuse(after)
		a.d.challenger = nil
	}
}
