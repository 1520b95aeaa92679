package gamesession

import (
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages"
)

// Published is what the API may see of one game session. It outlives the game session's
// actor. Any goroutine may read it; only a Publisher writes it. A change of a player session
// copies nothing else.
type Published struct {
	session        atomic.Pointer[messages.GameSession] // without CurrentPlayers; replaced by change
	ending         atomic.Pointer[string]               // somebody has been told that it ends, for this reason
	current        atomic.Int64                         // player sessions RESERVED or ACTIVE that are shown
	playerSessions atomic.Pointer[[]*playerSessionView] // in order of creation; only ever appended to, or replaced

	mu       sync.Mutex // for current and these
	reserved int        // player sessions RESERVED or ACTIVE
	hidden   int        // of them, those that are not durable yet
}

// playerSessionView is what the API shows of one player session, besides what it shares with its
// game session.
type playerSessionView struct {
	id         messages.PlayerSessionID
	playerID   messages.PlayerID
	data       string
	created    time.Time
	hidden     atomic.Bool // it is not durable yet: nobody may see it
	counted    bool        // in Published.hidden; guarded by its mu
	status     atomic.Uint32
	terminated atomic.Int64 // Unix nanoseconds, set before a final status
}

// Publisher is the one writer of a Published. The fleet makes it and shares it with the game
// session's actor, and with nobody else: the exported methods are the fleet's, the others the
// actor's. Both may write at the same time.
type Publisher struct{ Published }

// Reader returns the side of it that cannot write.
func (p *Publisher) Reader() *Published { return &p.Published }

// NewPublisher returns a Publisher that shows the record of a game session that is about to
// start.
func NewPublisher(g *messages.GameSession) *Publisher {
	p := &Publisher{}
	p.session.Store(g)
	p.playerSessions.Store(new([]*playerSessionView))
	return p
}

// change replaces the record by what set makes of it.
func (p *Publisher) change(set func(g *messages.GameSession)) {
	for {
		old := p.session.Load()
		g := *old
		set(&g)
		if p.session.CompareAndSwap(old, &g) {
			return
		}
	}
}

// Shared returns the record of the moment without a copy, and what it lacks: how many
// player sessions are RESERVED or ACTIVE. The record says nothing of an end that has
// been answered and has not begun; live is whether the game session is ACTIVE, and
// shown as such.
func (p *Published) Shared() (g *messages.GameSession, players int, live bool) {
	g = p.session.Load()
	return g, int(p.current.Load()), g.Status == messages.GameSessionActive && p.ending.Load() == nil
}

// Edits is what the API may change of a game session (service-api.md 2.6).
type Edits struct {
	Name           string
	Properties     []messages.Property
	MaxPlayers     int
	AcceptsPlayers bool
	Protected      bool
}

// Edit replaces what the API may change. The game is not told (D-212); the next player
// session is created by it.
func (p *Publisher) Edit(e Edits) { p.change(e.To) }

// To makes the changes in a record of the caller's own.
func (e Edits) To(g *messages.GameSession) {
	g.Name, g.Properties, g.MaxPlayers, g.AcceptsPlayers, g.Protected = e.Name, e.Properties, e.MaxPlayers, e.AcceptsPlayers, e.Protected
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
func (p *Publisher) Terminating(reason string) { p.ending.CompareAndSwap(nil, &reason) }

// Ending returns the reason of an end that has been answered, "" if there is none.
func (p *Published) Ending() string {
	if reason := p.ending.Load(); reason != nil {
		return *reason
	}
	return ""
}

// Players returns the records of the player sessions in order of creation, those
// that want says yes to. Finished ones are kept up to finishedKeptMax.
func (p *Published) Players(want func(messages.PlayerSessionID, messages.PlayerID, messages.PlayerSessionStatus) bool) []*messages.PlayerSession {
	var found []*messages.PlayerSession
	g := p.session.Load()
	for _, s := range *p.playerSessions.Load() {
		if !s.hidden.Load() && (want == nil || want(s.id, s.playerID, s.state())) {
			found = append(found, s.record(g))
		}
	}
	return found
}

// PlayerIDs returns the ids of the player sessions in order of creation.
func (p *Published) PlayerIDs() []messages.PlayerSessionID {
	views := *p.playerSessions.Load()
	ids := make([]messages.PlayerSessionID, len(views))
	for i, s := range views {
		ids[i] = s.id
	}
	return ids
}

// PlayerStatus returns the status of one player session, 0 if there is none of that id.
func (p *Published) PlayerStatus(id messages.PlayerSessionID) messages.PlayerSessionStatus {
	for _, s := range *p.playerSessions.Load() {
		if s.id == id && !s.hidden.Load() {
			return s.state()
		}
	}
	return 0
}

func (s *playerSessionView) state() messages.PlayerSessionStatus {
	return messages.PlayerSessionStatus(s.status.Load())
}

func (s *playerSessionView) set(status messages.PlayerSessionStatus, now time.Time) {
	if status.Final() {
		s.terminated.Store(now.UnixNano())
	}
	s.status.Store(uint32(status))
}

// activate shows a player session that comes to be served, unless it is over.
func (s *playerSessionView) activate() {
	s.status.CompareAndSwap(uint32(messages.PlayerSessionReserved), uint32(messages.PlayerSessionActive))
}

// reactivate shows a player session that has left and comes to be served again.
func (s *playerSessionView) reactivate() {
	s.status.CompareAndSwap(uint32(messages.PlayerSessionCompleted), uint32(messages.PlayerSessionActive))
}

// record builds the record of a player session of g.
func (s *playerSessionView) record(g *messages.GameSession) *messages.PlayerSession {
	r := &messages.PlayerSession{
		ID: s.id, PlayerID: s.playerID, PlayerData: s.data, GameSessionID: g.ID, FleetID: g.FleetID,
		Status: s.state(), Created: s.created, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port,
	}
	if r.Status.Final() {
		r.Terminated = time.Unix(0, s.terminated.Load())
	}
	return r
}

// reserveViews adds new player sessions, which are not shown yet. They are appended to the
// list that readers may hold: they see no more than their length.
func (a *Actor) reserveViews(made []*playerSessionView) {
	p := a.o.Publisher
	for _, s := range made {
		s.hidden.Store(true)
	}
	views := append(*p.playerSessions.Load(), made...)
	p.playerSessions.Store(&views)
	p.count(func() {
		for _, s := range made {
			s.counted = true
		}
		p.hidden += len(made)
		p.reserved = len(a.order) - a.finished
	})
}

// show shows player sessions that are durable. It is called by the fleet.
func (p *Publisher) show(views []*playerSessionView) {
	p.count(func() {
		for _, s := range views {
			s.hidden.Store(false)
			p.uncounted(s)
		}
	})
}

// uncounted counts a player session as hidden no more.
func (p *Publisher) uncounted(s *playerSessionView) {
	if s.counted {
		s.counted = false
		p.hidden--
	}
}

// count changes what current is made of.
func (p *Publisher) count(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.current.Store(int64(max(0, p.reserved-p.hidden)))
}

// countViews updates the published counts after a player session has changed.
func (a *Actor) countViews(s *playerSession) {
	p := a.o.Publisher
	p.count(func() {
		if s.view.state().Final() {
			p.uncounted(s.view)
		}
		p.reserved = len(a.order) - a.finished
	})
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
	a.forgetPlayerSessions(func(s *playerSession) bool {
		if drop == 0 || !s.view.state().Final() || s.ref != nil || s.record == recordPending {
			return false
		}
		drop--
		return true
	})
}

// forgetPlayerSessions drops player sessions that are final and have no actor any more.
func (a *Actor) forgetPlayerSessions(which func(*playerSession) bool) {
	kept := make([]*playerSession, 0, len(a.order))
	views := make([]*playerSessionView, 0, len(a.order))
	var forgotten []messages.PlayerSessionID
	for _, s := range a.order {
		if which(s) {
			a.finished--
			delete(a.byID, s.player.ID)
			delete(a.byPlayer, s.player)
			if s.record != recordRefused {
				forgotten = append(forgotten, s.player.ID)
			}
			continue
		}
		kept = append(kept, s)
		views = append(views, s.view)
	}
	a.order = kept
	a.o.Publisher.playerSessions.Store(&views)
	a.o.Fleet.Tell(PlayerSessionsForgotten{Session: a.record.ID, IDs: forgotten})
}
