package gamesession

import (
	"sync/atomic"
	"time"

	"troupe/messages"
)

// Published is where a game session shows what the API may see of it. It
// outlives the actor. The actor writes, any goroutine reads; a change costs the
// actor no copy of what did not change.
type Published struct {
	session atomic.Pointer[messages.GameSession] // without CurrentPlayers
	ending  atomic.Pointer[string]               // somebody has been told that it ends, for this reason
	current atomic.Int64                         // player sessions RESERVED or ACTIVE
	places  atomic.Pointer[[]*place]             // in order of creation; only ever appended to, or replaced
}

// place is what is shown of one player session, besides what it shares with its
// game session.
type place struct {
	id         messages.PlayerSessionID
	playerID   messages.PlayerID
	data       string
	created    time.Time
	status     atomic.Uint32
	terminated atomic.Int64 // Unix nanoseconds, set before a final status
}

// NewPublished returns a Published that shows the record of a game session that
// is about to start.
func NewPublished(g *messages.GameSession) *Published {
	p := &Published{}
	p.session.Store(g)
	p.places.Store(new([]*place))
	return p
}

// Session returns the record of the moment.
func (p *Published) Session() *messages.GameSession {
	g := *p.session.Load()
	g.CurrentPlayers = int(p.current.Load())
	if reason := p.ending.Load(); reason != nil {
		switch {
		case g.Status < messages.GameSessionTerminating:
			g.Status = messages.GameSessionTerminating
		case g.Status == messages.GameSessionTerminated && g.StatusReason == "":
			g.StatusReason = *reason
		}
	}
	return &g
}

// Terminating shows the game session as TERMINATING before its actor gets to know,
// so that a status that was answered once is never taken back, and the reason at its
// end, should that come before Terminate, which follows.
func (p *Published) Terminating(reason string) { p.ending.CompareAndSwap(nil, &reason) }

// Players returns the records of the player sessions in order of creation, those
// that want says yes to. Finished ones are kept up to finishedKeptMax.
func (p *Published) Players(want func(messages.PlayerSessionID, messages.PlayerID, messages.PlayerSessionStatus) bool) []*messages.PlayerSession {
	var found []*messages.PlayerSession
	g := p.session.Load()
	for _, s := range *p.places.Load() {
		if want == nil || want(s.id, s.playerID, s.state()) {
			found = append(found, s.record(g))
		}
	}
	return found
}

func (s *place) state() messages.PlayerSessionStatus {
	return messages.PlayerSessionStatus(s.status.Load())
}

func (s *place) set(status messages.PlayerSessionStatus, now time.Time) {
	if status.Final() {
		s.terminated.Store(now.UnixNano())
	}
	s.status.Store(uint32(status))
}

// activate shows a player session that comes to be served, unless it is over.
func (s *place) activate() {
	s.status.CompareAndSwap(uint32(messages.PlayerSessionReserved), uint32(messages.PlayerSessionActive))
}

// reactivate shows a player session that has left and comes to be served again.
func (s *place) reactivate() {
	s.status.CompareAndSwap(uint32(messages.PlayerSessionCompleted), uint32(messages.PlayerSessionActive))
}

// record builds the record of a player session of g.
func (s *place) record(g *messages.GameSession) *messages.PlayerSession {
	r := &messages.PlayerSession{
		ID: s.id, PlayerID: s.playerID, PlayerData: s.data, GameSessionID: g.ID, FleetID: g.FleetID,
		Status: s.state(), Created: s.created, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port,
	}
	if r.Status.Final() {
		r.Terminated = time.Unix(0, s.terminated.Load())
	}
	return r
}

// publishPlaces shows the player sessions of order. New ones are appended to the
// list that readers may hold: they see no more than their length.
func (a *Actor) publishPlaces() {
	old := *a.o.Published.places.Load()
	places := old
	for _, s := range a.order[min(len(old), len(a.order)):] {
		places = append(places, s.place)
	}
	a.o.Published.places.Store(&places)
	a.countPlaces()
}

func (a *Actor) countPlaces() {
	a.o.Published.current.Store(int64(len(a.order) - a.finished))
}

// finishedKeptMax is how many COMPLETED and TIMEDOUT player sessions a game
// session remembers: enough to tell late comers, bounded for games that run
// for months.
const finishedKeptMax = 1000

// forgetFinished drops the older half of the finished player sessions if there
// are too many, so that the work is spread over many ends.
func (a *Actor) forgetFinished() {
	if a.finished <= finishedKeptMax {
		return
	}
	drop := a.finished - finishedKeptMax/2
	kept := make([]*seat, 0, len(a.order)-drop)
	places := make([]*place, 0, len(a.order)-drop)
	var forgotten []messages.PlayerSessionID
	for _, s := range a.order {
		if drop > 0 && s.place.state().Final() && s.ref == nil {
			drop--
			a.finished--
			delete(a.byID, s.player.ID)
			delete(a.byPlayer, s.player)
			forgotten = append(forgotten, s.player.ID)
			continue
		}
		kept = append(kept, s)
		places = append(places, s.place)
	}
	a.order = kept
	a.o.Published.places.Store(&places)
	a.o.Fleet.Tell(SeatsForgotten{Session: a.record.ID, IDs: forgotten})
}
