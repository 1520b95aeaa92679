package gamesession

import (
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages"
)

// Published is the API's view of a game session. It remains valid after the game session's actor has ended. Any
// goroutine may read it; only a Publisher writes it. A change of one player session does not copy the others.
type Published struct {
	session        atomic.Pointer[messages.GameSession] // without CurrentPlayers; replaced as a whole by change
	ending         atomic.Pointer[string]               // StatusReason of a termination that the API has acknowledged; else nil
	current        atomic.Int64                         // number of visible player sessions that are RESERVED or ACTIVE
	playerSessions atomic.Pointer[[]*playerSessionView] // in order of creation; only appended to or replaced as a whole

	mu       sync.Mutex // guards current and the fields below
	reserved int        // number of player sessions that are RESERVED or ACTIVE
	hidden   int        // number of the reserved ones that are not durable yet
}

// playerSessionView is the API's view of a player session, without the fields that it shares with its game session.
type playerSessionView struct {
	id         messages.PlayerSessionID
	playerID   messages.PlayerID
	data       string
	created    time.Time
	hidden     atomic.Bool // not durable yet, so not visible
	counted    bool        // counted in Published.hidden; guarded by Published.mu
	status     atomic.Uint32
	terminated atomic.Int64 // Unix nanoseconds; set before a final status
}

// Publisher writes a Published. The fleet creates it and calls the exported methods. The game session's actor calls the
// others. The two may do so concurrently.
type Publisher struct {
	Published
	server bool // set once, by ForServer
}

// ForServer says that the game session has Options.Server. It must be called before the game session starts.
func (p *Publisher) ForServer() { p.server = true }

// Reader returns the read-only view.
func (p *Publisher) Reader() *Published { return &p.Published }

// NewPublisher returns the Publisher of a game session that is about to start.
func NewPublisher(g *messages.GameSession) *Publisher {
	p := &Publisher{}
	p.session.Store(g)
	p.playerSessions.Store(new([]*playerSessionView))
	return p
}

// change replaces the record by a copy that set has modified.
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

// Shared returns the current record, without copying it, and the number of player sessions that are RESERVED or ACTIVE.
// live says that the game session is ACTIVE and that no request to end it has been acknowledged.
func (p *Published) Shared() (g *messages.GameSession, players int, live bool) {
	g = p.session.Load()
	return g, int(p.current.Load()), g.Status == messages.GameSessionActive && p.ending.Load() == nil
}

// Shown returns the same record as Session, except that the number of player sessions that are RESERVED or ACTIVE is a
// separate result. It copies the record only while a termination that the API has acknowledged is missing in it.
func (p *Published) Shown() (g *messages.GameSession, players int) {
	if p.ending.Load() != nil {
		g = p.Session()
		return g, g.CurrentPlayers
	}
	return p.session.Load(), int(p.current.Load())
}

// Edit copies the fields that the API may change from n (service-api.md 2.6). The game is not notified. The changes
// apply to later player sessions.
func (p *Publisher) Edit(n *messages.GameSession) { // D-212
	p.change(func(g *messages.GameSession) {
		g.Name, g.Properties, g.MaxPlayers, g.AcceptsPlayers, g.Protected = n.Name, n.Properties, n.MaxPlayers, n.AcceptsPlayers, n.Protected
	})
}

// Matched replaces the matchmaker data.
func (p *Publisher) Matched(data string) {
	p.change(func(g *messages.GameSession) { g.MatchmakerData = data })
}

// Seats returns the occupied and free seats of the game session.
func (p *Published) Seats() messages.GameSeats {
	g, _, live := p.Shared()
	s := messages.GameSeats{Live: live, Over: !live && g.Status >= messages.GameSessionActive, Accepts: g.AcceptsPlayers}
	for _, v := range *p.playerSessions.Load() {
		if !v.state().Final() {
			s.Players = append(s.Players, v.playerID)
		}
	}
	s.Free = g.MaxPlayers - len(s.Players)
	return s
}

// Session returns a copy of the current record. It includes CurrentPlayers and an acknowledged termination.
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

// Terminating shows the game session as TERMINATING before Terminate reaches its actor, because the API must never take
// back a status. If the game session ends before Terminate arrives, it still shows this reason.
func (p *Publisher) Terminating(reason string) { p.ending.CompareAndSwap(nil, &reason) }

// Ending returns the reason passed to Terminating, or "" if Terminating was not called.
func (p *Published) Ending() string {
	if reason := p.ending.Load(); reason != nil {
		return *reason
	}
	return ""
}

// Players returns the records for which want returns true, oldest first. A nil want selects all records. At most
// finishedKeptMax finished player sessions are kept.
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

// PlayerStatus returns the status of one player session. It returns 0 if no player session has that id.
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

func (s *playerSessionView) record(g *messages.GameSession) *messages.PlayerSession {
	r := &messages.PlayerSession{
		ID: s.id, PlayerID: s.playerID, PlayerData: s.data, GameSessionID: g.ID, FleetID: g.FleetID,
		Status: s.state(), Created: s.created, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Node: g.Node,
	}
	if r.Status.Final() {
		r.Terminated = time.Unix(0, s.terminated.Load())
	}
	return r
}

// addHiddenViews adds player sessions that are not visible yet. It may append to an array that readers share, which is
// safe because they do not read past the length of their slices.
func (a *Actor) addHiddenViews(made []*playerSessionView) {
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

// show makes durable player sessions visible. The fleet calls it.
func (p *Publisher) show(views []*playerSessionView) {
	p.count(func() {
		for _, s := range views {
			s.hidden.Store(false)
			p.countShown(s)
		}
	})
}

// countShown removes a player session from the count of hidden ones.
func (p *Publisher) countShown(s *playerSessionView) {
	if s.counted {
		s.counted = false
		p.hidden--
	}
}

// count runs change under the lock and then updates current.
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
			p.countShown(s.view)
		}
		p.reserved = len(a.order) - a.finished
	})
}

// finishedKeptMax limits the number of COMPLETED and TIMEDOUT player sessions that a game session keeps in order to
// answer late logins.
const finishedKeptMax = 1000

// forgetFinished drops the older half of the finished player sessions if there are more than finishedKeptMax.
func (a *Actor) forgetFinished() {
	if a.finished <= finishedKeptMax {
		return
	}
	drop := a.finished - finishedKeptMax/2
	a.forgetPlayerSessions(func(s *playerSession) bool {
		if drop == 0 || !s.view.state().Final() || s.ref != nil || s.record == recordPending || s.setting {
			return false
		}
		drop--
		return true
	})
}

// forgetPlayerSessions drops the player sessions for which which returns true. They must have a final status and no
// actor.
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
