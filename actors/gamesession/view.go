package gamesession

import (
	"sync/atomic"

	"troupe/messages"
)

// View is what the API may see of a game session at one moment. Immutable.
type View struct {
	Session *messages.GameSession
	// Players are the player sessions in order of creation. Finished ones are
	// kept up to finishedKeptMax.
	Players []*messages.PlayerSession
}

// Published is where a game session publishes its View. It outlives the actor.
// Any goroutine may read it.
type Published struct{ view atomic.Pointer[View] }

// NewPublished returns a Published that shows the record of a game session that
// is about to start.
func NewPublished(g *messages.GameSession) *Published {
	p := &Published{}
	p.view.Store(&View{Session: g})
	return p
}

// View returns the latest view, never nil.
func (p *Published) View() *View { return p.view.Load() }

// finishedKeptMax is how many COMPLETED and TIMEDOUT player sessions a game
// session remembers: enough to tell late comers, bounded for games that run
// for months.
const finishedKeptMax = 1000
