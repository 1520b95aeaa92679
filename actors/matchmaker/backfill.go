package matchmaker

import (
	"errors"
	"slices"

	"troupe/actors/fault"
	"troupe/actors/ledger"
	"troupe/actors/matchmaker/ruleset"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

func (t *ticket) automatic() bool {
	return t.record.Backfill != nil && t.record.Backfill.Automatic
}

// backfill returns the backfill ticket of the match, or nil if the match needs a new game session.
func (p *proposal) backfill() *ticket {
	for _, t := range p.tickets {
		if t.record.Backfill != nil {
			return t
		}
	}
	return nil
}

// seatsRead is a backfill request with the current seats of its game session.
type seatsRead struct {
	request stage.Request[messages.StartMatchBackfill, *messages.Ticket]
	messages.SeatsReport
	err error
}

// OnDeadLetter implements stage.DeadLetter.
func (r seatsRead) OnDeadLetter() {
	r.request.Reply(nil, errStopped)
}

// onAskedBackfill first reads the seats, because the sender may know of changes that have not been reported
// to the Manager yet.
func (m *Manager) onAskedBackfill(c *stage.Context, q stage.Request[messages.StartMatchBackfill, *messages.Ticket]) {
	g := m.games[q.Request.Session]
	if g == nil {
		m.onStartBackfill(c, q)
		return
	}
	g.reads++
	self := c.Self()
	m.placer.Seats(messages.AwaitSeats{ID: q.Request.Session}, func(r messages.SeatsReport, err error) { self.Tell(seatsRead{q, r, err}) })
}

// onSeatsRead does not call watch. The AwaitSeats of onAskedBackfill has ended the pending AwaitSeats of
// watch; the handler of its answer calls watch.
func (m *Manager) onSeatsRead(c *stage.Context, r seatsRead) {
	g := m.games[r.request.Request.Session]
	if g != nil {
		g.reads = max(0, g.reads-1)
	}
	if g != nil && r.err == nil {
		g.seats, g.version = &r.Seats, r.Version
		for i := range r.Asks {
			m.onBackfillRequested(c, g, &r.Asks[i])
		}
	}
	m.onStartBackfill(c, r.request)
}

// onStartBackfill starts a backfill ticket, which replaces another one of its game session (flexmatch.md 16.1).
func (m *Manager) onStartBackfill(c *stage.Context, q stage.Request[messages.StartMatchBackfill, *messages.Ticket]) {
	r := &q.Request
	record := &messages.Ticket{ID: r.TicketID, Matchmaker: r.Matchmaker, Players: r.Players, Call: r.Call, Backfill: &messages.Backfill{Session: r.Session}}
	if r.Session != "" {
		record.Game = &messages.MatchedSession{ID: r.Session}
	}
	var g *game
	m.start(c, record, newTicket{
		check: func(k *matchmaker) ([]store.Change, error) {
			g = m.games[r.Session]
			if err := m.checkBackfill(k, g, r.Session); err != nil {
				return nil, err
			}
			if err := checkTeams(k.rules.set, r.Players); err != nil {
				return nil, err
			}
			var err error
			record.Players, err = inGame(g, r.Players)
			return nil, err
		},
		apply: func(t *ticket) {
			switch {
			case g == nil:
			case m.games[r.Session] != g:
				m.endBackfill(c, t, textGameEnded)
			default:
				old := g.ticket
				g.ticket = t
				if old != nil {
					m.endBackfill(c, old, textReplaced)
				}
			}
		},
	}, q.With(&record))
}

// checkBackfill returns an error if the game session cannot have a backfill ticket of the configuration.
func (m *Manager) checkBackfill(k *matchmaker, g *game, id messages.GameSessionID) error {
	switch {
	case k.record.Standalone && id != "":
		return messages.Errorf(messages.InvalidRequest, "GameSessionArn must be absent: the matchmaking configuration %s is STANDALONE", k.record.Name)
	case k.record.Standalone:
		return nil
	case id == "":
		return messages.Errorf(messages.InvalidRequest, "GameSessionArn is required, unless the matchmaking configuration is STANDALONE")
	case g == nil:
		return messages.Errorf(messages.NotFound, "game session %s is not known to matchmaking: it was created without it, or has ended", id)
	case g.seats != nil && !g.seats.Live:
		return messages.Errorf(messages.InvalidRequest, "game session %s is not ACTIVE", id)
	}
	return nil
}

// inGame returns the players of a request who are in its game session. If the ticket contained other players,
// no match would fill their seats.
func inGame(g *game, players []messages.TicketPlayer) ([]messages.TicketPlayer, error) {
	if g == nil || g.seats == nil { // STANDALONE, or the seats are not reported yet
		return players, nil
	}
	here := slices.DeleteFunc(slices.Clone(players), func(p messages.TicketPlayer) bool { return !slices.Contains(g.seats.Players, p.ID) })
	if len(here) == 0 {
		return nil, messages.Errorf(messages.InvalidRequest, "Players: none of them is in game session %s", g.record.Session)
	}
	return here, nil
}

// checkTeams returns an error if a player's team is not in the rule set.
func checkTeams(set *ruleset.RuleSet, players []messages.TicketPlayer) error {
	for i := range players {
		switch team := players[i].Team; {
		case team == "":
			return messages.Errorf(messages.InvalidRequest, "Players[%d].Team is required: the team that the player is in", i)
		case set.Team(team) < 0:
			return messages.Errorf(messages.InvalidRequest, "Players[%d].Team is %q, which the rule set does not have", i, clip(team))
		}
	}
	return nil
}

// fill adds the new players of a match to the game session of its backfill ticket. It is safe to repeat after a restart.
func (m *Manager) fill(p *proposal, t *ticket, data string, answer func(PlacedMatch, error)) {
	q := messages.FillGameSession{Session: t.record.Backfill.Session, Match: p.record.ID, Data: data, Reason: messages.MatchDataUpdated, Ticket: t.id()}
	for _, o := range p.tickets {
		for i := range o.record.Players {
			if o != t {
				q.Players = append(q.Players, messages.NewPlayer{PlayerID: o.record.Players[i].ID})
			}
		}
	}
	m.placer.Fill(q, func(f *messages.FilledGameSession, err error) {
		if err != nil {
			answer(PlacedMatch{}, err)
			return
		}
		_ = fault.Hit(fault.MatchFilled)
		g := f.Session
		answer(PlacedMatch{Active: true, Placement: messages.Placement{
			Status: messages.PlacementFulfilled, GameSessionID: g.ID, Location: g.Location, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Placed: f.Placed,
		}}, nil)
	})
}

// backfillEnded tells the game session that its backfill ticket has ended. It starts the next automatic
// ticket if there are free seats.
func (m *Manager) backfillEnded(c *stage.Context, t *ticket) {
	if t.record.Backfill == nil || t.record.Backfill.Session == "" {
		return
	}
	id := t.record.Backfill.Session
	// There is no reason for COMPLETED: the game session was told when it got the new players.
	reason := map[messages.TicketStatus]messages.UpdateReason{
		messages.TicketFailed: messages.BackfillFailed, messages.TicketTimedOut: messages.BackfillTimedOut, messages.TicketCancelled: messages.BackfillCancelled,
	}[t.record.Status]
	if reason != "" {
		m.tellGame(id, reason, t.id())
	}
	g := m.games[id]
	if g == nil || g.ticket != t {
		return
	}
	g.ticket = nil
	if t.record.Status == messages.TicketFailed {
		g.failed = c.Now()
	}
	m.review(c, g)
}

func (m *Manager) tellGame(id messages.GameSessionID, reason messages.UpdateReason, ticket messages.TicketID) {
	m.placer.Fill(messages.FillGameSession{Session: id, Reason: reason, Ticket: ticket}, func(*messages.FilledGameSession, error) {})
}

// onBackfillRequested handles a backfill request that a game sent for its own game session.
func (m *Manager) onBackfillRequested(c *stage.Context, g *game, ask *messages.AskBackfill) {
	refused := func(err error) {
		if err != nil {
			c.Log().Info().Err(err).Str("game_session_id", string(g.record.Session)).Msg("a game's request for backfill is refused")
			if !ask.Stop {
				m.tellGame(g.record.Session, messages.BackfillFailed, ask.Ticket)
			}
		}
	}
	switch {
	case !ask.Stop:
		players, _ := m.present(g, slices.DeleteFunc(slices.Clone(g.seats.Players), func(id messages.PlayerID) bool { return slices.Contains(ask.Leaving, id) }))
		q := messages.StartMatchBackfill{TicketID: ask.Ticket, Matchmaker: g.record.Matchmaker, Session: g.record.Session, Players: players}
		if len(q.Players) == 0 {
			refused(messages.Errorf(messages.InvalidRequest, "no player of a match is in the game session"))
			return
		}
		m.onStartBackfill(c, stage.Request[messages.StartMatchBackfill, *messages.Ticket]{Request: q, Reply: func(_ *messages.Ticket, err error) { refused(err) }})
	case g.ticket != nil && g.ticket.automatic():
		m.cancel(c, g.ticket, textCancelled, true, func(err error) {
			// The match of the ticket is in PLACING and will take the seat. Only later tickets can be
			// prevented.
			if errors.Is(err, &messages.Error{Code: messages.InvalidRequest}) {
				m.turnOff(c, g, refused)
				return
			}
			refused(err)
		})
	default:
		m.turnOff(c, g, refused)
		if g.ticket != nil {
			m.cancel(c, g.ticket, textCancelled, true, refused)
		}
	}
}

// announced returns the game session whose matchmaker data announces id as its next ticket. It returns nil if
// a ticket with this ID has not ended.
func (m *Manager) announced(id messages.TicketID) *game {
	if t := m.tickets[id]; t != nil && (t.record.Backfill == nil || !t.record.Status.Final()) {
		return nil
	}
	for _, g := range m.games {
		if g.record.Automatic && g.record.NextTicket == id {
			return g
		}
	}
	return nil
}

// stopping returns e, the entry that ends ticket t. If stop is true and t is automatic, it adds the end of
// automatic backfill of the game session.
func (m *Manager) stopping(t *ticket, stop bool, e ledger.Entry) ledger.Entry {
	if !stop || !t.automatic() {
		return e
	}
	g := m.games[t.record.Backfill.Session]
	if g == nil || !g.record.Automatic {
		return e
	}
	next := *g.record
	next.Automatic = false
	e.Changes = append(e.Changes, store.Put(store.MatchedGame, string(next.Session), &next))
	apply := e.Apply
	e.Apply = func() {
		g.record = &next
		apply()
	}
	return e
}

// turnOff ends automatic backfill of a game session. The next review then cancels a waiting ticket.
func (m *Manager) turnOff(c *stage.Context, g *game, reply func(error)) {
	key := gameKey(g.record.Session)
	done := func(err error) {
		if errors.Is(err, errMoved) {
			err = nil
		}
		reply(err)
	}
	m.ledger.Do(ledger.Transaction{Key: key, Reply: done, Decide: func() (ledger.Entry, error) {
		if m.games[g.record.Session] != g || !g.record.Automatic {
			return ledger.Entry{}, errMoved
		}
		next := *g.record
		next.Automatic = false
		return ledger.Entry{Changes: []store.Change{store.Put(store.MatchedGame, key.ID, &next)}, Apply: func() {
			g.record = &next
			m.review(c, g)
		}}, nil
	}})
}

// recheck reviews the game session of an automatic ticket after a match with that ticket, because seats may
// have changed during the match.
func (m *Manager) recheck(c *stage.Context, t *ticket) {
	if !t.automatic() {
		return
	}
	if g := m.games[t.record.Backfill.Session]; g != nil && g.ticket == t {
		m.review(c, g)
	}
}

// resumeBackfill assigns a restored backfill ticket to its game session. If the game session has no record,
// it is watched all the same: if it does not exist, that ends the ticket.
func (m *Manager) resumeBackfill(t *ticket) {
	b := t.record.Backfill
	if b == nil || b.Session == "" {
		return
	}
	if m.games[b.Session] == nil {
		m.games[b.Session] = &game{record: &messages.MatchedGame{Session: b.Session, Matchmaker: t.record.Matchmaker}}
	}
	m.games[b.Session].ticket = t
}
