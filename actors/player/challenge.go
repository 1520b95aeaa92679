package player

import (
	"time"

	"troupe/messages"
)

// challengeTime is how long a challenged connection has to give a sign of life
// (reliability.md 2.6).
const challengeTime = 2 * time.Second

func (a *Actor) onChallengeOver(c actorContext, m challengeOver) {
	if a.hasLeft() { // Ended follows, and ends the challenge
		return
	}
	e := Event{Kind: ChallengeAnswered, Epoch: m.epoch}
	if a.d.current.Silence() > a.d.challengedAt.since() {
		e.Kind = ChallengeUnanswered
		a.bindChallenger(c, m.epoch)
	}
	a.step(c, e)
}

// bindChallenger binds the challenger's connection before the connection of epoch e is
// dropped. If the challenger's connection has ended, the challenge is over.
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
