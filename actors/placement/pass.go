package placement

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"troupe/actors/fault"
	"troupe/actors/stage"
	"troupe/messages"
)

// onRoom makes all placements of all queues due. Their passes then determine which of them can use the free process.
func (m *Manager) onRoom(c *stage.Context) {
	for _, q := range m.queues {
		if len(q.pending) > q.endedCount {
			q.roomFreed = true
			m.ask(c, q)
		}
	}
}

// ask asks the hosts for the candidates of a queue, for all of its placements that are due. If a pass is already
// running, the placements wait for the next one.
func (m *Manager) ask(c *stage.Context, q *queue) {
	if q.pass.stage != noPass || m.draining {
		return
	}
	q.pass.batch = q.waiting
	q.waiting = nil
	if q.roomFreed && !q.paused {
		q.roomFreed = false
		for _, e := range q.pending {
			if e.state == idle {
				e.state = passing
				q.pass.batch = append(q.pass.batch, e)
			}
		}
	}
	if len(q.pass.batch) == 0 {
		return
	}
	slices.SortFunc(q.pass.batch, func(a, b *entry) int { return cmp.Compare(a.number, b.number) })
	q.pass.stage = asking
	self := c.Self()
	messages.Send(m.hosts, messages.Candidates{Destinations: q.record.Destinations}, func(list []messages.Candidate, err error) {
		self.Tell(run{func(c *stage.Context) { m.onCandidatesFound(c, q, list, err) }})
	})
}

func (m *Manager) onCandidatesFound(c *stage.Context, q *queue, list []messages.Candidate, err error) {
	p := &q.pass
	p.stage, p.candidates = walking, list
	m.setNoDestination(c, q, err)
	p.room, p.rooms = make(map[destination]bool, len(list)), 0
	for _, candidate := range list {
		if d := destinationOf(candidate); candidate.Room && !p.room[d] {
			p.room[d] = true
			p.rooms++
		}
	}
	m.walk(c, q)
}

// setNoDestination records the reason why no destination of a queue accepts placements, or nil if one does. The
// placements keep waiting, because the destinations may change.
func (m *Manager) setNoDestination(c *stage.Context, q *queue, why error) {
	was := q.noDestination
	q.noDestination = why
	switch {
	case why != nil && (was == nil || was.Error() != why.Error()):
		c.Log().Warn().Err(why).Str("queue", string(q.record.Name)).Msg("no destination of a queue takes placements: they wait for their timeout")
	case why == nil && was != nil:
		c.Log().Info().Str("queue", string(q.record.Name)).Msg("a destination of the queue takes placements again")
	}
}

// walk tries the candidates for the placements of a batch, oldest placement first. It pauses if a placement has to wait
// for the answers to earlier launches.
func (m *Manager) walk(c *stage.Context, q *queue) {
	for looked := 0; ; looked++ {
		e := q.pass.next()
		if e == nil {
			break
		}
		if q.pass.tried++; looked >= turnMax {
			c.Self().Tell(run{func(c *stage.Context) { m.walk(c, q) }})
			return
		}
		if e.state == passing && !m.try(c, e) {
			m.stall(q)
			return
		}
		q.pass.pop()
	}
	if q.pass.stage != walking {
		return
	}
	if q.pass.tried > turnMax && !q.paused {
		q.paused = true
		c.After(pauseFor, run{func(c *stage.Context) {
			q.paused = false
			m.ask(c, q)
		}})
	}
	q.pass.stage, q.pass.tried = noPass, 0
	m.ask(c, q)
}

// next returns the next placement to try, or nil if there is none. If no candidate has room, next ends the pass for the
// rest of the batch.
func (p *queuePass) next() *entry {
	if len(p.blocked) > 0 {
		return p.blocked[0]
	}
	if p.stage == asking { // the candidates for the batch are not known yet
		return nil
	}
	if len(p.batch) > 0 && p.rooms == 0 {
		for _, e := range p.batch {
			if e.state == passing {
				e.endPass()
			}
		}
		p.batch = nil
	}
	if len(p.batch) > 0 {
		return p.batch[0]
	}
	return nil
}

// pop removes the placement that next returned.
func (p *queuePass) pop() {
	if len(p.blocked) > 0 {
		p.blocked = p.blocked[1:]
	} else {
		p.batch = p.batch[1:]
	}
}

// endPass ends a placement's pass without a game session.
func (e *entry) endPass() {
	e.state, e.order, e.at, e.stale = idle, nil, 0, false
	e.passes++
}

// stall pauses a queue until the next answer to a launch.
func (m *Manager) stall(q *queue) {
	if !q.pass.stalled {
		q.pass.stalled = true
		m.stalled = append(m.stalled, q)
	}
}

// resume continues the queues that wait for the answer to a launch.
func (m *Manager) resume(c *stage.Context) {
	waiting := m.stalled
	m.stalled = nil
	for _, q := range waiting {
		q.pass.stalled = false
		m.walk(c, q)
	}
}

// try launches a game session at the next candidate with room. If there is none, it ends the pass. It returns false if
// the placement has to wait for other launches at that candidate.
func (m *Manager) try(c *stage.Context, e *entry) bool {
	if !time.Now().Before(e.timeout()) { // the next step ends the placement
		e.endPass()
		return true
	}
	if e.order == nil {
		e.order = e.ranking.Order(e.queue.record, time.Since(e.start), e.passes == 0, e.queue.pass.candidates)
	}
	for ; e.at < len(e.order); e.at++ {
		p := destinationOf(e.order[e.at])
		switch {
		case !e.stale && !e.queue.pass.room[p]:
		case m.launches[p] >= launchesMax:
			return false
		default:
			m.launch(c, e, p)
			return true
		}
	}
	e.endPass()
	return true
}

func (m *Manager) tryNext(c *stage.Context, e *entry) {
	e.state = passing
	e.at++
	if m.draining {
		e.endPass()
		return
	}
	if !m.try(c, e) {
		e.queue.pass.blocked = append(e.queue.pass.blocked, e)
		m.stall(e.queue)
	}
}

func (m *Manager) launch(c *stage.Context, e *entry, p destination) {
	e.state = launching
	e.tries++
	m.launches[p]++
	self, try, r := c.Self(), e.tries, &e.record.Request
	messages.Send(m.hosts, messages.Launch{
		Request: messages.CreateGameSession{
			Tail: uuid.NewString(), FleetID: p.fleet, Location: p.location, Name: r.Name, Data: r.Data, Properties: r.Properties, MaxPlayers: r.MaxPlayers,
		},
		MatchmakerData: r.MatchmakerData,
	}, func(g *messages.GameSession, err error) { self.Tell(gameSessionLaunched{m.hosts, e, try, p, g, err}) })
}

func (m *Manager) onLaunched(c *stage.Context, l gameSessionLaunched) {
	if m.launches[l.destination]--; m.launches[l.destination] <= 0 {
		delete(m.launches, l.destination)
	}
	e := l.e
	switch mine := e.state == launching && e.tries == l.try; {
	case !mine:
		if l.game != nil {
			giveUp(m.hosts, l.game.ID)
		}
	case l.err != nil:
		if p := &e.queue.pass; p.room[l.destination] {
			p.room[l.destination] = false
			p.rooms--
		}
		m.tryNext(c, e)
	default:
		g := l.game
		e.state, e.attempt = activating, g.ID
		m.attempts[g.ID] = e
		shown := *e.record
		shown.GameSessionID, shown.Location, shown.IPAddress, shown.DNSName, shown.Port = g.ID, g.Location, g.IPAddress, g.DNSName, g.Port
		shown.Node = g.Node
		e.record = &shown
		_ = fault.Hit(fault.PlacementLaunched)
		self := c.Self()
		messages.Send(m.hosts, messages.AwaitActivation{ID: g.ID}, func(a messages.Activation, err error) {
			self.Tell(run{func(c *stage.Context) { m.onActivated(c, g.ID, a, err) }})
		})
	}
	m.resume(c)
}

// giveUp ends a game session that no placement needs any longer.
func giveUp(hosts messages.Sender, id messages.GameSessionID) {
	messages.Send(hosts, messages.GiveUp{ID: id}, func(messages.None, error) {})
}

// onActivated handles the result of an activation. If the game session is ACTIVE, it reserves the player sessions.
// Otherwise it tries the next candidate.
func (m *Manager) onActivated(c *stage.Context, id messages.GameSessionID, a messages.Activation, err error) {
	e := m.attempts[id]
	// Unavailable: the host is stopping, and its next start decides
	if e == nil || e.state != activating || errors.Is(err, &messages.Error{Code: messages.Unavailable}) {
		return
	}
	if !a.Active {
		delete(m.attempts, id)
		c.Log().Info().Str("placement_id", string(e.id())).Str("game_session_id", string(id)).Str("reason", a.Text).
			Msg("an attempt of a placement failed")
		e.attempt, e.stale = "", true
		m.tryNext(c, e)
		return
	}
	players := e.record.Request.Players
	if len(players) == 0 {
		m.fulfil(c, e, nil)
		return
	}
	e.state = reserving
	self, try := c.Self(), e.tries
	messages.Send(m.hosts, messages.CreatePlayerSessions{GameSessionID: id, Players: players},
		func(s []*messages.PlayerSession, err error) {
			self.Tell(run{func(c *stage.Context) { m.onReserved(c, e, try, s, err) }})
		})
}

// onReserved handles the result of the reservation of player sessions. If it succeeded, the placement is FULFILLED.
// Otherwise onReserved ends the game session and tries the next candidate.
func (m *Manager) onReserved(c *stage.Context, e *entry, try int, sessions []*messages.PlayerSession, err error) {
	if e.state != reserving || e.tries != try {
		return
	}
	if err != nil {
		m.endAttempt(e)
		e.stale = true
		m.tryNext(c, e)
		return
	}
	placed := make([]messages.PlacedPlayer, len(sessions))
	for i, p := range sessions {
		placed[i] = messages.PlacedPlayer{PlayerID: p.PlayerID, PlayerSessionID: p.ID}
	}
	m.fulfil(c, e, placed)
}

func (m *Manager) fulfil(c *stage.Context, e *entry, placed []messages.PlacedPlayer) {
	_ = fault.Hit(fault.PlacementSeated)
	m.end(c, e, messages.PlacementFulfilled, placed)
}
