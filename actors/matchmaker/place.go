package matchmaker

import (
	"errors"
	"slices"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/messages"
)

// Placer finds game sessions for matches, and adds players to running game sessions. Its methods do not
// block. The methods and the replies may be called on any goroutine. Errors have the type *messages.Error.
type Placer interface {
	// Place starts a placement, unless one with the same ID exists. It replies once, when the placement has
	// ended.
	Place(r messages.StartPlacement, reply func(PlacedMatch, error))
	// Seats replies once, as messages.AwaitSeats describes.
	Seats(q messages.AwaitSeats, reply func(messages.SeatsReport, error))
	// Fill changes a game session. It replies once, when the change is durable.
	Fill(q messages.FillGameSession, reply func(*messages.FilledGameSession, error))
}

// PlacedMatch is the game session that a placement has found for a match.
type PlacedMatch struct {
	Placement messages.Placement
	Active    bool // the placement is FULFILLED and its game session is ACTIVE
}

// place asks the Placer for the game session of a match. A Manager that has crashed may have sent the same
// request before.
func (m *Manager) place(c *stage.Context, p *proposal) {
	p.try++
	self, id, try := c.Self(), p.record.ID, p.try
	answer := func(placed PlacedMatch, err error) {
		self.Tell(runLater{func(c *stage.Context) {
			if m.proposals[id] == p && p.try == try {
				m.onPlacementEnded(c, p, placed, err)
			}
		}})
	}
	data := m.dataOf(p)
	switch t := p.backfill(); {
	case t == nil && len(p.k.record.Queues) == 0: // an update has made the configuration STANDALONE
		answer(PlacedMatch{}, messages.Errorf(messages.NotFound, "matchmaking configuration %s has no queue", p.k.record.Name))
	case len([]rune(data)) > dataMax:
		answer(PlacedMatch{}, messages.Errorf(messages.InvalidRequest, "the matchmaker data of match %s has more than %d characters", id, dataMax))
	case t != nil:
		m.fill(p, t, data, answer)
	default:
		m.placer.Place(p.request(data), answer)
	}
}

func (p *proposal) request(data string) messages.StartPlacement {
	k := p.k.record
	r := messages.StartPlacement{
		ID: messages.PlacementID(p.record.ID), Queue: k.Queues[0], MaxPlayers: p.record.MaxPlayers, Properties: k.Properties, Data: k.Data,
		MatchmakerData: data,
	}
	for _, t := range p.tickets {
		for i := range t.record.Players {
			player := &t.record.Players[i]
			r.Players = append(r.Players, messages.NewPlayer{PlayerID: player.ID})
			for location, ms := range player.Latencies {
				r.Latencies = append(r.Latencies, messages.PlayerLatency{PlayerID: player.ID, Location: location, Latency: float32(ms)})
			}
		}
	}
	return r
}

// onPlacementEnded ends a match whose placement has ended, or schedules another attempt.
func (m *Manager) onPlacementEnded(c *stage.Context, p *proposal, placed PlacedMatch, err error) {
	if t := p.backfill(); t != nil && err == nil {
		if g := m.games[t.record.Backfill.Session]; g != nil && g.seats != nil {
			g.fill(placed.Placement.Placed)
		}
	}
	switch status := placed.Placement.Status; {
	case err != nil && passes(err):
		m.placeLater(c, p)
	case err != nil && p.backfill() != nil && hasCode(err, messages.NotFound, messages.InvalidGameSessionStatus, messages.GameSessionFull):
		m.endPlacing(c, p, func() ledger.Entry {
			return m.apply(c, change{match: p, record: p.record, moves: p.moves(p.records(), c.Now(), refused)})
		})
	case err == nil && status == messages.PlacementFulfilled && placed.Active:
		m.endPlacing(c, p, func() ledger.Entry { return m.completing(c, p, &placed.Placement) })
	case err == nil && (status == messages.PlacementFulfilled || status == messages.PlacementTimedOut): // FM-27
		m.endPlacing(c, p, func() ledger.Entry {
			return m.apply(c, change{match: p, record: p.record, moves: p.moves(p.records(), c.Now(), always(placementTimedOut))})
		})
	default:
		if err != nil {
			c.Log().Warn().Err(err).Str("configuration", string(p.k.record.Name)).Str("match_id", string(p.record.ID)).Msg("a match has no placement")
		}
		m.endPlacing(c, p, func() ledger.Entry {
			moves := p.moves(p.records(), c.Now(), always(placementFailed))
			d := detail{Type: "MatchmakingFailed", Reason: reasonError, Message: textError, Metrics: &[]metric{}}
			failed := p.k.event(&d, recordsOf(moves), &messages.Match{ID: p.record.ID}, nil, c.Now())
			return m.apply(c, change{match: p, record: p.record, moves: moves, events: []messages.Event{failed}})
		})
	}
}

// passes reports whether the same request may succeed later.
func passes(err error) bool {
	return hasCode(err, messages.Unavailable, messages.LimitExceeded, messages.Internal, messages.Conflict)
}

func hasCode(err error, codes ...messages.ErrorCode) bool {
	return slices.ContainsFunc(codes, func(code messages.ErrorCode) bool { return errors.Is(err, &messages.Error{Code: code}) })
}

// placeLater calls place after a pause, unless the match has ended or place has been called meanwhile.
func (m *Manager) placeLater(c *stage.Context, p *proposal) {
	try := p.try
	c.After(retryAfter, runLater{func(c *stage.Context) {
		if m.proposals[p.record.ID] == p && p.try == try {
			m.place(c, p)
		}
	}})
}

// endPlacing commits the end of a match in PLACING. If the store refuses, the match is placed again.
func (m *Manager) endPlacing(c *stage.Context, p *proposal, entry func() ledger.Entry) {
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
			return entry(), nil
		},
		Reply: func(err error) {
			if err != nil && m.proposals[p.record.ID] == p {
				m.placeLater(c, p)
			}
		},
	})
}

// completing returns the entry that completes a match with its game session.
func (m *Manager) completing(c *stage.Context, p *proposal, r *messages.Placement) ledger.Entry {
	seats := make(map[messages.PlayerID]messages.PlacedPlayer, len(r.Placed))
	for _, s := range r.Placed {
		seats[s.PlayerID] = s
	}
	moves := p.moves(p.records(), c.Now(), always(matchCompleted))
	for _, mv := range moves {
		mv.next.Game = &messages.MatchedSession{ID: r.GameSessionID, IPAddress: r.IPAddress, DNSName: r.DNSName, Port: r.Port}
		for i := range mv.next.Players {
			if s, ok := seats[mv.next.Players[i].ID]; ok {
				mv.next.Game.Placed = append(mv.next.Game.Placed, s)
			}
		}
	}
	e := m.apply(c, change{match: p, record: p.record, moves: moves, events: []messages.Event{succeededEvent(p, recordsOf(moves), r, c.Now())}})
	m.matchedGame(c, p, r, &e)
	return e
}

// refused returns the occurrence for a ticket when the game session of a backfill match refuses the new
// players.
func refused(t *ticket) occurrence {
	if t.record.Backfill != nil {
		return backfillRefused
	}
	return fillRefused
}
