package matchmaker

import (
	"errors"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/messages"
)

// Placer finds game sessions for matches: placements of this host, or stand-ins. Each reply is called once, from any goroutine;
// its error is a *messages.Error. Methods do not block.
type Placer interface {
	// Start starts a placement, and replies once it is durable.
	Start(r messages.StartPlacement, reply func(error))
	// Await replies with a placement once it has ended; NotFound if it does not exist.
	Await(id messages.PlacementID, reply func(*messages.Placement, error))
	// Active replies whether a game session is ACTIVE.
	Active(id messages.GameSessionID, reply func(bool, error))
	// Watch has notify called with nil after each change of a game session's seats, and with each request of its game for
	// backfill, until it is over. It replies with a function that reads the seats, from any goroutine.
	Watch(id messages.GameSessionID, notify func(*messages.AskBackfill), reply func(read func() messages.GameSeats, err error))
	// Fill changes a game session, and replies once the change is durable.
	Fill(q messages.FillGameSession, reply func(*messages.FilledGameSession, error))
}

// placed is an answer of the Placer, or the end of a pause.
type placed struct {
	p         *proposal
	try       int
	placement *messages.Placement // it has ended
	active    bool                // its game session is ACTIVE
	err       error
}

// place looks for the game session of a match. The placement may exist already, from before a restart.
func (m *Manager) place(c *stage.Context, p *proposal) {
	p.try++
	if t := p.backfill(); t != nil {
		m.fill(c, p, t)
		return
	}
	self, try := c.Self(), p.try
	tell := func(r placed) {
		r.p, r.try = p, try
		self.Tell(r)
	}
	ended := func(r *messages.Placement, err error) {
		if err != nil || r.Status != messages.PlacementFulfilled {
			tell(placed{placement: r, err: err})
			return
		}
		m.placer.Active(r.GameSessionID, func(active bool, err error) { tell(placed{placement: r, active: active, err: err}) })
	}
	request, err := m.request(p)
	if err != nil {
		tell(placed{err: err})
		return
	}
	placer := m.placer
	placer.Await(request.ID, func(r *messages.Placement, err error) {
		if !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
			ended(r, err)
			return
		}
		placer.Start(request, func(refused error) {
			// It may exist although this start was refused: a Manager that has crashed may have sent one, too.
			placer.Await(request.ID, func(r *messages.Placement, err error) {
				if refused != nil && errors.Is(err, &messages.Error{Code: messages.NotFound}) {
					err = refused
				}
				ended(r, err)
			})
		})
	})
}

// request returns the placement of a match (flexmatch.md 15).
func (m *Manager) request(p *proposal) (messages.StartPlacement, error) {
	k := p.k.record
	r := messages.StartPlacement{
		ID: messages.PlacementID(p.record.ID), MaxPlayers: p.record.MaxPlayers, Properties: k.Properties, Data: k.Data,
	}
	if len(k.Queues) == 0 { // it has become STANDALONE meanwhile
		return r, messages.Errorf(messages.NotFound, "matchmaking configuration %s has no queue", k.Name)
	}
	r.Queue = k.Queues[0]
	for _, t := range p.tickets {
		for i := range t.record.Players {
			player := &t.record.Players[i]
			r.Players = append(r.Players, messages.NewPlayer{PlayerID: player.ID})
			for location, ms := range player.Latencies {
				r.Latencies = append(r.Latencies, messages.PlayerLatency{PlayerID: player.ID, Location: location, Latency: float32(ms)})
			}
		}
	}
	if r.MatchmakerData = m.dataOf(p); len([]rune(r.MatchmakerData)) > dataMax {
		return r, messages.Errorf(messages.InvalidRequest, "the matchmaker data of match %s has more than %d characters", p.record.ID, dataMax)
	}
	return r, nil
}

// onPlaced ends a match whose placement has ended, or tries again.
func (m *Manager) onPlaced(c *stage.Context, r placed) {
	p := r.p
	if m.proposals[p.record.ID] != p || p.try != r.try {
		return
	}
	switch {
	case r.err != nil && passes(r.err), r.err == nil && r.placement == nil:
		if r.err == nil {
			m.place(c, p)
			return
		}
		c.After(retryAfter, placed{p: p, try: p.try})
	case r.err != nil && p.backfill() != nil && isGone(r.err):
		m.end(c, p, m.unfilled)
	case r.err != nil:
		c.Log().Warn().Err(r.err).Str("configuration", string(p.k.record.Name)).Str("match_id", string(p.record.ID)).Msg("a match has no placement")
		m.end(c, p, m.failing)
	case r.placement.Status == messages.PlacementFulfilled && r.active:
		m.end(c, p, func(c *stage.Context, p *proposal) ledger.Entry { return m.completing(c, p, r.placement) })
	case r.placement.Status == messages.PlacementFulfilled, r.placement.Status == messages.PlacementTimedOut:
		m.end(c, p, m.returning)
	default:
		m.end(c, p, m.failing)
	}
}

// passes reports whether an error may be gone after a while.
func passes(err error) bool {
	for _, code := range []messages.ErrorCode{messages.Unavailable, messages.LimitExceeded, messages.Internal, messages.Conflict} {
		if errors.Is(err, &messages.Error{Code: code}) {
			return true
		}
	}
	return false
}

// end ends a match in PLACING. If the store refuses it, everything is tried again.
func (m *Manager) end(c *stage.Context, p *proposal, entry func(*stage.Context, *proposal) ledger.Entry) {
	try, uses := p.try, p.ticketKeys()
	if t := p.backfill(); t != nil && t.record.Backfill.Session != "" {
		uses = append(uses, gameKey(t.record.Backfill.Session))
	}
	m.ledger.Do(ledger.Transaction{
		Key: p.key(), Uses: uses, WaitingMax: m.o.ActiveMax,
		Decide: func() (ledger.Entry, error) {
			if m.proposals[p.record.ID] != p || p.try != try {
				return ledger.Entry{}, errMoved
			}
			return entry(c, p), nil
		},
		Reply: func(err error) {
			if err != nil && m.proposals[p.record.ID] == p {
				c.After(retryAfter, placed{p: p, try: p.try})
			}
		},
	})
}

// completing returns the entry of a match that has its game session.
func (m *Manager) completing(c *stage.Context, p *proposal, r *messages.Placement) ledger.Entry {
	now := c.Now()
	seats := make(map[messages.PlayerID]messages.PlacedPlayer, len(r.Placed))
	for _, s := range r.Placed {
		seats[s.PlayerID] = s
	}
	outcomes := make([]outcome, len(p.tickets))
	next := make([]*messages.Ticket, len(p.tickets))
	for i, t := range p.tickets {
		next[i] = t.ended(now, messages.TicketCompleted, "", "")
		next[i].Game = &messages.MatchedSession{ID: r.GameSessionID, IPAddress: r.IPAddress, DNSName: r.DNSName, Port: r.Port}
		for j := range t.record.Players {
			if s, ok := seats[t.record.Players[j].ID]; ok {
				next[i].Game.Placed = append(next[i].Game.Placed, s)
			}
		}
		outcomes[i] = outcome{t, next[i]}
	}
	e := m.applying(c, p, outcomes, succeeded(p, next, r, now))
	m.matchedGame(c, p, r, &e)
	return e
}

// returning returns the entry of a match without a game session: its tickets wait for another match (FM-27).
func (m *Manager) returning(c *stage.Context, p *proposal) ledger.Entry {
	return m.back(c, p, reasonPlacement)
}

// back returns the entry of a match in PLACING whose tickets wait for another match. With reasonBackfill, its backfill ticket ends.
func (m *Manager) back(c *stage.Context, p *proposal, reason string) ledger.Entry {
	now := c.Now()
	outcomes := make([]outcome, len(p.tickets))
	events := make([]messages.Event, len(p.tickets))
	for i, t := range p.tickets {
		next := t.returned(now, reason)
		if t.record.Backfill != nil && reason == reasonBackfill {
			next = t.ended(now, messages.TicketFailed, reasonError, "The game session is not there, or has no seats for the match.")
		}
		outcomes[i] = outcome{t, next}
		if next.Status == messages.TicketSearching {
			events[i] = searching(p.k, next, now)
		} else {
			events[i] = endEvent(p.k, next, p.record, now)
		}
	}
	return m.applying(c, p, outcomes, events...)
}

// failing returns the entry of a match that cannot have a game session.
func (m *Manager) failing(c *stage.Context, p *proposal) ledger.Entry {
	now := c.Now()
	outcomes := make([]outcome, len(p.tickets))
	next := make([]*messages.Ticket, len(p.tickets))
	for i, t := range p.tickets {
		next[i] = t.ended(now, messages.TicketFailed, reasonError, textError)
		outcomes[i] = outcome{t, next[i]}
	}
	return m.applying(c, p, outcomes, failed(p, next, now))
}

// orphan ends a ticket whose configuration is gone.
func (m *Manager) orphan(c *stage.Context, t *ticket) {
	t.timeout.fire = func(c *stage.Context) { m.orphan(c, t) } // if the store refuses it
	m.leave(c, t, func() (ledger.Entry, error) {
		if !t.waits() {
			return ledger.Entry{}, errMoved
		}
		return m.ending(c, t, messages.TicketFailed, reasonError, "The matchmaking configuration of the ticket does not exist any more."), nil
	})
}
