package matchmaker

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"troupe/actors/ledger"
	"troupe/actors/matchmaker/match"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

const (
	// failedPause is the time after a failed backfill ticket until automatic backfill goes on: the next may fail for the same reason.
	failedPause = 30 * time.Second
	// gamePlayersMax bounds the players that are kept of a game session; those of the oldest matches are left out.
	gamePlayersMax = 400
)

// game is a game session that a match has made. Each transaction that changes its record has its key, so that no two change it
// at the same time.
type game struct {
	record   *messages.MatchedGame
	ticket   *ticket                   // the newest backfill ticket, until it has ended
	read     func() messages.GameSeats // nil until it is watched
	due      alarm                     // of review
	failed   time.Time                 // when a backfill ticket failed last; zero: never
	starting bool                      // an automatic ticket is being stored
	data     string                    // the matchmaker data that it was given last; empty: not known
	told     atomic.Bool               // a seated is on its way
}

// Messages of the Placer to the Manager, and of the Manager to itself.
type (
	watched struct {
		g    *game
		read func() messages.GameSeats
		err  error
	}
	seated struct{ g *game }
	asked  struct {
		g   *game
		ask messages.AskBackfill
	}
	again struct{ f func(*stage.Context) }
)

func gameKey(id messages.GameSessionID) ledger.Key {
	return ledger.Key{Kind: store.MatchedGame, ID: string(id)}
}

func (m *Manager) newGame(r *messages.MatchedGame) *game {
	g := &game{record: r}
	g.due.fire = func(c *stage.Context) { m.review(c, g) }
	return g
}

// watch makes a game session tell of changes of its seats.
func (m *Manager) watch(c *stage.Context, g *game) {
	self := c.Self()
	m.placer.Watch(g.record.Session, func(ask *messages.AskBackfill) {
		switch {
		case ask != nil:
			self.Tell(asked{g, *ask})
		case g.told.CompareAndSwap(false, true):
			self.Tell(seated{g})
		}
	}, func(read func() messages.GameSeats, err error) { self.Tell(watched{g, read, err}) })
}

func (m *Manager) onWatched(c *stage.Context, r watched) {
	switch {
	case m.games[r.g.record.Session] != r.g:
	case r.err == nil:
		r.g.read = r.read
		m.review(c, r.g)
	case passes(r.err):
		c.After(retryAfter, again{func(c *stage.Context) { m.watch(c, r.g) }})
	default:
		m.release(c, r.g)
	}
}

// onSeated reviews a game session soon: players who come and go together cause one new ticket.
func (m *Manager) onSeated(c *stage.Context, r seated) {
	r.g.told.Store(false)
	m.reviewLater(c, r.g, m.o.Interval)
}

// review ends, starts or replaces the automatic backfill ticket of a game session, as its seats need it.
func (m *Manager) review(c *stage.Context, g *game) {
	if m.games[g.record.Session] != g || g.read == nil {
		return
	}
	seats := g.read()
	if seats.Over {
		m.release(c, g)
		return
	}
	k, t := m.matchmakers[g.record.Matchmaker], g.ticket
	switch {
	case !seats.Live || m.draining || g.starting || k == nil || k.rules == nil || t != nil && (!t.automatic() || t.proposal != nil || t.proposing):
		return
	case !g.record.Automatic:
		if t != nil { // it has started just before it was stopped
			m.endBackfill(c, t, textCancelled)
		}
		return
	case !k.record.AutoBackfill:
		if t != nil {
			m.endBackfill(c, t, "The matchmaking configuration has automatic backfill no more.")
		}
		return
	}
	players, elsewhere := m.present(g, seats)
	if elsewhere { // who gives up there comes back into the ticket, and no seat changes then
		m.reviewLater(c, g, m.o.Interval)
	}
	room := 0
	if seats.Accepts {
		room = max(0, seats.Free-k.record.AdditionalPlayers)
	}
	switch needed := room > 0 && len(players) > 0; {
	case t != nil && needed && t.record.Backfill.Room == room && samePlayers(t.record.Players, players):
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

// reviewLater makes a review due after d, unless one is due earlier.
func (m *Manager) reviewLater(c *stage.Context, g *game, d time.Duration) {
	if m.games[g.record.Session] == g && (g.due.index == 0 || g.due.at.After(time.Now().Add(d))) {
		m.setAlarm(c, &g.due, c.Now().Add(d))
	}
}

// present returns the players of a game session who hold a seat and do not look for another match, and whether others do.
func (m *Manager) present(g *game, s messages.GameSeats) (players []messages.TicketPlayer, elsewhere bool) {
	here := make(map[messages.PlayerID]bool, len(s.Players))
	for _, id := range s.Players {
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

func samePlayers(a, b []messages.TicketPlayer) bool {
	return slices.EqualFunc(a, b, func(x, y messages.TicketPlayer) bool { return x.ID == y.ID })
}

// startAutomatic starts the next automatic ticket, with the id that the matchmaker data announces.
func (m *Manager) startAutomatic(c *stage.Context, g *game, players []messages.TicketPlayer, room int) {
	id := g.record.NextTicket
	if id == "" || m.tickets[id] != nil || m.damaged[store.Ticket][string(id)] {
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
			if g.ticket != nil { // the game session's own request has started meanwhile, and goes first
				m.endBackfill(c, t, "A newer backfill request for the game session replaces this one.")
				return
			}
			g.ticket = t
			m.announce(c, g, t)
			m.reviewLater(c, g, m.o.Interval) // the seats may have changed meanwhile
		},
	}, func(_ *messages.Ticket, err error) {
		if err != nil {
			g.starting = false
			m.reviewLater(c, g, retryAfter)
		}
	})
}

// announce gives a game session matchmaker data with its players and the automatic ticket as they are now.
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

// give stores matchmaker data in a game session. If the store refuses it, it is tried again until there is newer data.
func (m *Manager) give(c *stage.Context, g *game, data string) {
	self := c.Self()
	m.placer.Fill(messages.FillGameSession{Session: g.record.Session, Data: data}, func(_ *messages.FilledGameSession, err error) {
		if err != nil && passes(err) {
			self.Tell(again{func(c *stage.Context) { m.giveLater(c, g, data) }})
		}
	})
}

func (m *Manager) giveLater(c *stage.Context, g *game, data string) {
	c.After(retryAfter, again{func(c *stage.Context) {
		switch {
		case m.games[g.record.Session] != g || g.data != data:
		case g.ticket != nil && g.ticket.proposal != nil: // the game session may have the data of its match already
			m.giveLater(c, g, data)
		default:
			m.give(c, g, data)
		}
	}})
}

// release forgets a game session that has ended.
func (m *Manager) release(c *stage.Context, g *game) {
	delete(m.games, g.record.Session)
	m.alarms.clear(&g.due)
	m.ledger.CommitAsync(store.Delete(store.MatchedGame, string(g.record.Session)))
	if g.ticket != nil {
		m.endBackfill(c, g.ticket, textGameEnded)
	}
}

const textGameEnded = "The game session has ended."

// endBackfill cancels a backfill ticket. One in PLACING ends with its match. If the store refuses it, it is tried again.
func (m *Manager) endBackfill(c *stage.Context, t *ticket, text string) {
	m.cancel(c, t, text, false, func(err error) {
		if err != nil && (t.waits() || t.record.Status == messages.TicketRequiresAcceptance) {
			c.After(retryAfter, again{func(c *stage.Context) { m.endBackfill(c, t, text) }})
		}
	})
}

// openAfter reports whether automatic backfill goes on after a match.
func (m *Manager) openAfter(k *matchmaker, p *proposal, found *match.Match) bool {
	if !m.goesOn(p) {
		return false
	}
	n := k.record.AdditionalPlayers
	for _, t := range found.Teams {
		n += len(t.Players)
	}
	return n < found.MaxSize
}

// goesOn reports whether the game session of a match has automatic backfill.
func (m *Manager) goesOn(p *proposal) bool {
	if t := p.backfill(); t != nil {
		g := m.games[t.record.Backfill.Session]
		return g != nil && g.record.Automatic
	}
	return p.k.record.AutoBackfill && !p.k.record.Standalone
}

// matchedGame adds what is kept of the game session of a match to the entry that completes the match.
func (m *Manager) matchedGame(c *stage.Context, p *proposal, r *messages.Placement, e *ledger.Entry) {
	next := &messages.MatchedGame{
		Session: r.GameSessionID, Matchmaker: p.k.record.Name, Match: p.record.ID, Automatic: m.goesOn(p), NextTicket: p.record.NextTicket,
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
			return // it has ended meanwhile
		}
		next.Matchmaker = g.record.Matchmaker
		for _, player := range g.record.Players { // one who has left may come back
			if !known[player.ID] && len(next.Players) < gamePlayersMax {
				next.Players = append(next.Players, player)
			}
		}
	}
	e.Changes = append(e.Changes, store.Put(store.MatchedGame, string(next.Session), next))
	apply := e.Apply
	e.Apply = func() {
		if g == nil {
			g = m.newGame(next)
			m.games[next.Session] = g
			m.watch(c, g)
		}
		if m.games[next.Session] == g {
			g.record, g.data = next, data
		}
		apply()
	}
}
