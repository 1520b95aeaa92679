package matchmaker

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"troupe/actors/ledger"
	"troupe/actors/matchmaker/match"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

const (
	// failedPause is the time after a failed backfill ticket until the next automatic one, which may fail for
	// the same reason.
	failedPause = 30 * time.Second
	// gamePlayersMax is the maximum number of players in the record of a game session. Players of the oldest
	// matches are dropped first.
	gamePlayersMax = 400
)

// game is a game session that was created for a match. Every transaction that changes its record uses
// gameKey, so these transactions run one after the other.
type game struct {
	record   *messages.MatchedGame
	ticket   *ticket             // the newest backfill ticket; nil when it has ended
	seats    *messages.GameSeats // latest report of the Placer; nil before the first one
	version  uint64              // version of that report
	due      alarm               // calls review
	failed   time.Time           // when the latest backfill ticket failed; zero if none has
	starting bool                // an automatic ticket is being committed
	reads    int                 // AwaitSeats of onAskedBackfill that are not answered
	data     string              // latest matchmaker data sent to the game session; "" if unknown
}

func gameKey(id messages.GameSessionID) ledger.Key {
	return ledger.Key{Kind: store.MatchedGame, ID: string(id)}
}

// watch asks the Placer to report the seats of a game session when they have changed since the last report.
func (m *Manager) watch(c *stage.Context, g *game) {
	self, id := c.Self(), g.record.Session
	m.placer.Seats(messages.AwaitSeats{ID: id, Since: g.version}, func(r messages.SeatsReport, err error) {
		self.Tell(runLater{func(c *stage.Context) {
			if m.games[id] == g {
				m.onSeatsReported(c, g, r, err)
			}
		}})
	})
}

func (m *Manager) watchLater(c *stage.Context, g *game) {
	c.After(retryAfter, runLater{func(c *stage.Context) {
		if m.games[g.record.Session] == g {
			m.watch(c, g)
		}
	}})
}

// onSeatsReported schedules a review after an interval, so that players who join or leave at about the same
// time cause only one new ticket.
func (m *Manager) onSeatsReported(c *stage.Context, g *game, r messages.SeatsReport, err error) {
	switch {
	case err != nil && passes(err):
		m.watchLater(c, g)
	case err != nil:
		m.forgetGame(c, g)
	default:
		first := g.seats == nil
		changed := g.version != r.Version
		g.seats, g.version = &r.Seats, r.Version
		switch {
		case r.Seats.Over:
		case first || changed || len(r.Asks) > 0 || g.reads > 0: // a read of this Manager ends its watch
			m.watch(c, g)
		default: // another leader of the cluster watches it too; asked at once, the two would displace each other without end
			m.watchLater(c, g)
		}
		for i := range r.Asks {
			m.onBackfillRequested(c, g, &r.Asks[i])
		}
		switch {
		case first:
			m.review(c, g)
		case changed:
			m.reviewLater(c, g, m.o.Interval)
		}
	}
}

// fill applies the answer of Placer.Fill to the seats, because the answer may arrive before the report of the
// same change.
func (g *game) fill(placed []messages.PlacedPlayer) {
	next := *g.seats
	next.Players = make([]messages.PlayerID, len(placed))
	for i, p := range placed {
		next.Players[i] = p.PlayerID
	}
	next.Free += len(g.seats.Players) - len(placed)
	g.seats = &next
}

// review starts, replaces or cancels the automatic backfill ticket of a game session, so that it fits the
// free seats.
func (m *Manager) review(c *stage.Context, g *game) {
	if m.games[g.record.Session] != g || g.seats == nil {
		return
	}
	seats := g.seats
	if seats.Over {
		m.forgetGame(c, g)
		return
	}
	k, t := m.matchmakers[g.record.Matchmaker], g.ticket
	switch {
	case !seats.Live || m.draining || g.starting || k == nil || k.rules == nil || t != nil && (!t.automatic() || t.proposal != nil || t.proposing):
		return
	case !g.record.Automatic:
		if t != nil { // the ticket started while backfill was being turned off
			m.endBackfill(c, t, textCancelled)
		}
		return
	case !k.record.AutoBackfill:
		if t != nil {
			m.endBackfill(c, t, "The matchmaking configuration has automatic backfill no more.")
		}
		return
	}
	players, elsewhere := m.present(g, seats.Players)
	if elsewhere { // the ticket needs such a player when that player stops searching; no seat report announces this
		m.reviewLater(c, g, m.o.Interval)
	}
	room := 0
	if seats.Accepts {
		room = max(0, seats.Free-k.record.AdditionalPlayers)
	}
	same := func(a, b messages.TicketPlayer) bool { return a.ID == b.ID }
	switch needed := room > 0 && len(players) > 0; {
	case t != nil && needed && t.record.Backfill.Room == room && slices.EqualFunc(t.record.Players, players, same):
	case t != nil:
		m.cancel(c, t, "The players of the game session have changed.", false, func(err error) {
			if err != nil {
				m.reviewLater(c, g, retryAfter)
			}
		})
	case needed:
		if wait := failedPause - c.Now().Sub(g.failed); !g.failed.IsZero() && wait > 0 {
			m.reviewLater(c, g, wait)
			return
		}
		m.startAutomatic(c, g, players, room)
	}
}

// reviewLater schedules a review after d, unless one is scheduled earlier.
func (m *Manager) reviewLater(c *stage.Context, g *game, d time.Duration) {
	if m.games[g.record.Session] == g && (g.due.at.IsZero() || g.due.at.After(time.Now().Add(d))) {
		g.due.set(c, c.Now().Add(d), func(c *stage.Context) { m.review(c, g) })
	}
}

// present returns those of the seated players of a game session who are not searching for another match.
// elsewhere reports whether some are.
func (m *Manager) present(g *game, seated []messages.PlayerID) (players []messages.TicketPlayer, elsewhere bool) {
	here := make(map[messages.PlayerID]bool, len(seated))
	for _, id := range seated {
		here[id] = true
	}
	for i := range g.record.Players {
		p := &g.record.Players[i]
		switch t := m.players[p.ID]; {
		case !here[p.ID]:
		case t == nil || t == g.ticket:
			players = append(players, *p)
		default:
			elsewhere = true
		}
	}
	return players, elsewhere
}

// startAutomatic starts the next automatic ticket. It uses the ID that the matchmaker data announces, if that
// is free.
func (m *Manager) startAutomatic(c *stage.Context, g *game, players []messages.TicketPlayer, room int) {
	id := g.record.NextTicket
	if id == "" || m.tickets[id] != nil || m.unread.Has(store.Ticket, string(id)) {
		id = messages.TicketID(uuid.NewString())
	}
	var next messages.MatchedGame
	g.starting = true
	record := &messages.Ticket{
		ID: id, Matchmaker: g.record.Matchmaker, Players: players, Game: &messages.MatchedSession{ID: g.record.Session},
		Backfill: &messages.Backfill{Session: g.record.Session, Automatic: true, Room: room},
	}
	m.start(c, record, newTicket{
		uses: []ledger.Key{gameKey(g.record.Session)},
		check: func(*matchmaker) ([]store.Change, error) {
			if m.games[g.record.Session] != g || g.ticket != nil || !g.record.Automatic {
				return nil, errMoved
			}
			next = *g.record
			next.NextTicket = id
			return []store.Change{store.Put(store.MatchedGame, string(next.Session), &next)}, nil
		},
		apply: func(t *ticket) {
			g.record, g.starting = &next, false
			if g.ticket != nil { // a ticket requested by the game was committed meanwhile; it has precedence
				m.endBackfill(c, t, textReplaced)
				return
			}
			g.ticket = t
			m.announce(c, g, t)
			m.reviewLater(c, g, m.o.Interval) // the seats may have changed during the commit
		},
	}, func(err error) {
		if err != nil {
			g.starting = false
			m.reviewLater(c, g, retryAfter)
		}
	})
}

// announce sends matchmaker data with the current players and the automatic ticket to a game session.
func (m *Manager) announce(c *stage.Context, g *game, t *ticket) {
	var teams []messages.MatchTeam
	for i := range t.k.rules.set.Teams {
		team := messages.MatchTeam{Name: t.k.rules.set.Teams[i].Name}
		for j := range t.record.Players {
			if p := &t.record.Players[j]; p.Team == team.Name {
				team.Players = append(team.Players, p.ID)
			}
		}
		teams = append(teams, team)
	}
	data := t.k.data(g.record.Match, teams, t.record.Players, true, t.id())
	if data == g.data || len([]rune(data)) > dataMax {
		return
	}
	g.data = data
	m.give(c, g, data)
}

// give stores matchmaker data in a game session. It retries until it succeeds or there is newer data.
func (m *Manager) give(c *stage.Context, g *game, data string) {
	self := c.Self()
	m.placer.Fill(messages.FillGameSession{Session: g.record.Session, Data: data}, func(_ *messages.FilledGameSession, err error) {
		if err != nil && passes(err) {
			self.Tell(runLater{func(c *stage.Context) { m.giveLater(c, g, data) }})
		}
	})
}

func (m *Manager) giveLater(c *stage.Context, g *game, data string) {
	c.After(retryAfter, runLater{func(c *stage.Context) {
		switch {
		case m.games[g.record.Session] != g || g.data != data:
		case g.ticket != nil && g.ticket.proposal != nil: // the match may already have sent newer data
			m.giveLater(c, g, data)
		default:
			m.give(c, g, data)
		}
	}})
}

func (m *Manager) forgetGame(c *stage.Context, g *game) {
	delete(m.games, g.record.Session)
	g.due.clear()
	m.ledger.CommitAsync(store.Delete(store.MatchedGame, string(g.record.Session)))
	if g.ticket != nil {
		m.endBackfill(c, g.ticket, textGameEnded)
	}
}

// endBackfill cancels a backfill ticket, and retries if the store refuses the change. It does not cancel a
// ticket in PLACING, which the match will end.
func (m *Manager) endBackfill(c *stage.Context, t *ticket, text string) {
	m.cancel(c, t, text, false, func(err error) {
		if err != nil && (t.waits() || t.record.Status == messages.TicketRequiresAcceptance) {
			c.After(retryAfter, runLater{func(c *stage.Context) { m.endBackfill(c, t, text) }})
		}
	})
}

// openAfter reports whether automatic backfill will need another ticket after the match.
func (m *Manager) openAfter(k *matchmaker, p *proposal, found *match.Match) bool {
	if !m.backfills(p) {
		return false
	}
	n := k.record.AdditionalPlayers
	for _, t := range found.Teams {
		n += len(t.Players)
	}
	return n < found.MaxSize
}

func (m *Manager) backfills(p *proposal) bool {
	if t := p.backfill(); t != nil {
		g := m.games[t.record.Backfill.Session]
		return g != nil && g.record.Automatic
	}
	return p.k.record.AutoBackfill && !p.k.record.Standalone
}

// matchedGame adds the record of the game session to the entry that completes a match.
func (m *Manager) matchedGame(c *stage.Context, p *proposal, r *messages.Placement, e *ledger.Entry) {
	next := &messages.MatchedGame{
		Session: r.GameSessionID, Matchmaker: p.k.record.Name, Match: p.record.ID, Automatic: m.backfills(p), NextTicket: p.record.NextTicket,
	}
	known := map[messages.PlayerID]bool{}
	for _, t := range p.tickets {
		for _, player := range t.record.Players {
			known[player.ID] = true
			if ms, ok := player.Latencies[r.Location]; ok {
				player.Latencies = map[string]int{r.Location: ms}
			} else {
				player.Latencies = nil
			}
			next.Players = append(next.Players, player)
		}
	}
	data := ""
	if next.Automatic {
		data = m.dataOf(p)
	}
	g := m.games[r.GameSessionID]
	if p.backfill() != nil {
		if g == nil {
			return // the game session ended during the match
		}
		next.Matchmaker = g.record.Matchmaker
		for _, player := range g.record.Players { // a player who has left may return
			if !known[player.ID] && len(next.Players) < gamePlayersMax {
				next.Players = append(next.Players, player)
			}
		}
	}
	e.Changes = append(e.Changes, store.Put(store.MatchedGame, string(next.Session), next))
	apply := e.Apply
	e.Apply = func() {
		if g == nil {
			g = &game{record: next}
			m.games[next.Session] = g
			m.watch(c, g)
		}
		if m.games[next.Session] == g {
			g.record, g.data = next, data
		}
		apply()
	}
}
