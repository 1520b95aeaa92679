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

// automatic reports whether the host has made the ticket.
func (t *ticket) automatic() bool {
	return t.record.Backfill != nil && t.record.Backfill.Automatic
}

// backfill returns the ticket of the match that is of a game session; nil if the match gets a new game session.
func (p *proposal) backfill() *ticket {
	for _, t := range p.tickets {
		if t.record.Backfill != nil {
			return t
		}
	}
	return nil
}

// onStartBackfill starts a backfill ticket for its caller (flexmatch.md 16.1).
func (m *Manager) onStartBackfill(c *stage.Context, r stage.Request[messages.StartMatchBackfill, *messages.Ticket]) {
	m.startBackfill(c, &r.Request, r.Reply)
}

// startBackfill starts a backfill ticket, in place of another one of its game session.
func (m *Manager) startBackfill(c *stage.Context, r *messages.StartMatchBackfill, reply func(*messages.Ticket, error)) {
	record := &messages.Ticket{ID: r.TicketID, Matchmaker: r.Matchmaker, Players: r.Players, Backfill: &messages.Backfill{Session: r.Session}}
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
					m.endBackfill(c, old, "A newer backfill request for the game session replaces this one.")
				}
			}
		},
	}, reply)
}

// checkBackfill refuses a game session that cannot have a backfill ticket of a configuration.
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
	case g.read != nil && !g.read().Live:
		return messages.Errorf(messages.InvalidRequest, "game session %s is not ACTIVE", id)
	}
	return nil
}

// inGame returns those of the players of a request who hold a seat in its game session: the others may have left just before
// (D-325). Their tickets would end, and their seats would stay free.
func inGame(g *game, players []messages.TicketPlayer) ([]messages.TicketPlayer, error) {
	if g == nil || g.read == nil { // without a queue, or it is not watched yet
		return players, nil
	}
	seats := map[messages.PlayerID]bool{}
	for _, id := range g.read().Players {
		seats[id] = true
	}
	var here []messages.TicketPlayer
	for i := range players {
		if seats[players[i].ID] {
			here = append(here, players[i])
		}
	}
	if len(here) == 0 {
		return nil, messages.Errorf(messages.InvalidRequest, "Players: none of them is in game session %s", g.record.Session)
	}
	return here, nil
}

// checkTeams refuses players who are in no team of a rule set.
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

// fill adds the new players of a match to the game session of its backfill ticket. It may have been done before a restart.
func (m *Manager) fill(c *stage.Context, p *proposal, t *ticket) {
	self, try := c.Self(), p.try
	q := messages.FillGameSession{
		Session: t.record.Backfill.Session, Match: p.record.ID, Data: m.dataOf(p), Reason: messages.MatchDataUpdated, Ticket: t.id(),
	}
	if len([]rune(q.Data)) > dataMax {
		self.Tell(placed{p: p, try: try, err: messages.Errorf(messages.InvalidRequest, "the matchmaker data of match %s has more than %d characters", p.record.ID, dataMax)})
		return
	}
	for _, o := range p.tickets {
		for i := range o.record.Players {
			if o != t {
				q.Players = append(q.Players, messages.NewPlayer{PlayerID: o.record.Players[i].ID})
			}
		}
	}
	m.placer.Fill(q, func(f *messages.FilledGameSession, err error) {
		answer := placed{p: p, try: try, err: err}
		if err == nil {
			_ = fault.Hit(fault.MatchFilled)
			g := f.Session
			answer.active = true
			answer.placement = &messages.Placement{
				Status: messages.PlacementFulfilled, GameSessionID: g.ID, Location: g.Location, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Placed: f.Placed,
			}
		}
		self.Tell(answer)
	})
}

// isGone reports whether a game session has refused the players of a match.
func isGone(err error) bool {
	return slices.ContainsFunc([]messages.ErrorCode{messages.NotFound, messages.InvalidGameSessionStatus, messages.GameSessionFull}, func(code messages.ErrorCode) bool {
		return errors.Is(err, &messages.Error{Code: code})
	})
}

// unfilled returns the entry of a match whose game session does not take its players: they wait for another match.
func (m *Manager) unfilled(c *stage.Context, p *proposal) ledger.Entry {
	return m.back(c, p, reasonBackfill)
}

// backfillEnded tells the game session of a backfill ticket that has ended. Automatic backfill goes on.
func (m *Manager) backfillEnded(c *stage.Context, t *ticket) {
	if t.record.Backfill == nil || t.record.Backfill.Session == "" {
		return
	}
	id := t.record.Backfill.Session
	reason := map[messages.TicketStatus]messages.UpdateReason{ // the game of a COMPLETED one was told together with its new players
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

// onAsked handles a request of a game for its own game session.
func (m *Manager) onAsked(c *stage.Context, r asked) {
	g := r.g
	if m.games[g.record.Session] != g {
		return
	}
	refused := func(err error) {
		if err != nil {
			c.Log().Info().Err(err).Str("game_session_id", string(g.record.Session)).Msg("a game's request for backfill is refused")
			if !r.ask.Stop {
				m.tellGame(g.record.Session, messages.BackfillFailed, r.ask.Ticket)
			}
		}
	}
	switch {
	case !r.ask.Stop && g.read == nil:
		c.After(retryAfter, r)
	case !r.ask.Stop:
		seats := g.read()
		seats.Players = slices.DeleteFunc(seats.Players, func(id messages.PlayerID) bool { return slices.Contains(r.ask.Leaving, id) })
		players, _ := m.present(g, seats)
		q := &messages.StartMatchBackfill{TicketID: r.ask.Ticket, Matchmaker: g.record.Matchmaker, Session: g.record.Session, Players: players}
		if len(q.Players) == 0 {
			refused(messages.Errorf(messages.InvalidRequest, "no player of a match is in the game session"))
			return
		}
		m.startBackfill(c, q, func(_ *messages.Ticket, err error) { refused(err) })
	case g.ticket != nil && g.ticket.automatic():
		m.cancel(c, g.ticket, textCancelled, true, func(err error) {
			if errors.Is(err, &messages.Error{Code: messages.InvalidRequest}) { // its match is PLACING, and has the seat; no more follow
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

// announced returns the game session whose matchmaker data announces an automatic ticket that has not started, or has ended without a
// match; nil if there is none.
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

// stopping adds the end of automatic backfill to the entry that ends its ticket, if stop is true.
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

// turnOff ends automatic backfill, and with it a ticket that waits.
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

// recheck reviews the game session of an automatic ticket that was in a match: its seats may have changed meanwhile.
func (m *Manager) recheck(c *stage.Context, t *ticket) {
	if !t.automatic() {
		return
	}
	if g := m.games[t.record.Backfill.Session]; g != nil && g.ticket == t {
		m.review(c, g)
	}
}

// resumeBackfill gives a backfill ticket back to its game session after a start. A game session that is not known ends it.
func (m *Manager) resumeBackfill(t *ticket) {
	b := t.record.Backfill
	if b == nil || b.Session == "" {
		return
	}
	if m.games[b.Session] == nil {
		m.games[b.Session] = m.newGame(&messages.MatchedGame{Session: b.Session, Matchmaker: t.record.Matchmaker})
	}
	m.games[b.Session].ticket = t
}
