package matchmaker

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"troupe/actors/fault"
	"troupe/actors/ledger"
	"troupe/actors/matchmaker/match"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// proposal is a match from its proposal until its tickets end or return to the pool.
type proposal struct {
	record   *messages.Match
	k        *matchmaker
	tickets  []*ticket
	deadline alarm // deadline for acceptance
	try      int   // number of the current placement attempt, used to ignore late answers
}

func (p *proposal) key() ledger.Key {
	return ledger.Key{Kind: store.Match, ID: string(p.record.ID)}
}

func (p *proposal) ticketKeys() []ledger.Key {
	keys := make([]ledger.Key, len(p.tickets))
	for i, t := range p.tickets {
		keys[i] = ticketKey(t.id())
	}
	return keys
}

// acceptance is the result of the acceptance of a match, as events contain it.
type acceptance string

const (
	acceptanceAccepted acceptance = "Accepted"
	acceptanceRejected acceptance = "Rejected"
	acceptanceTimedOut acceptance = "TimedOut"
)

// propose commits a match. If a ticket has left the pool meanwhile, or the store refuses the match, the
// tickets return to the pool.
func (m *Manager) propose(c *stage.Context, k *matchmaker, found *match.Match) {
	p := &proposal{k: k, record: &messages.Match{ID: messages.MatchID(uuid.NewString()), MaxPlayers: found.MaxSize}}
	for _, t := range found.Tickets {
		if e := m.tickets[messages.TicketID(t.ID)]; e != nil {
			p.tickets = append(p.tickets, e)
			p.record.Tickets = append(p.record.Tickets, e.id())
			e.proposing = true
		}
	}
	if m.openAfter(k, p, found) {
		p.record.NextTicket = messages.TicketID(uuid.NewString())
	}
	for _, t := range found.Teams {
		team := messages.MatchTeam{Name: t.Name, Players: []messages.PlayerID{}}
		for _, player := range t.Players {
			team.Players = append(team.Players, messages.PlayerID(player.ID))
		}
		p.record.Teams = append(p.record.Teams, team)
	}
	m.ledger.Do(ledger.Transaction{
		Key: p.key(), Uses: p.ticketKeys(), WaitingMax: m.o.ActiveMax,
		Decide: func() (ledger.Entry, error) {
			if len(p.tickets) < len(found.Tickets) || !m.free(p) {
				return ledger.Entry{}, errMoved
			}
			return m.proposing(c, p, found.Rules), nil
		},
		Reply: func(err error) {
			for _, t := range p.tickets {
				t.proposing = false
				if err != nil && t.waits() {
					m.enqueue(t)
					m.recheck(c, t)
				}
			}
		},
	})
}

// free reports whether all tickets of a match are still waiting and none is superseded.
func (m *Manager) free(p *proposal) bool {
	for _, t := range p.tickets {
		if !t.waits() || t.k != p.k {
			return false
		}
		for i := range t.record.Players {
			if m.players[t.record.Players[i].ID] != t && !t.automatic() {
				return false
			}
		}
	}
	return true
}

func (m *Manager) proposing(c *stage.Context, p *proposal, rules []match.RuleCount) ledger.Entry {
	now, config := c.Now(), p.k.record
	p.record.Matchmaker, p.record.Proposed = config.Name, now
	teams := map[messages.PlayerID]string{}
	for _, t := range p.record.Teams {
		for _, id := range t.Players {
			teams[id] = t.Name
		}
	}
	next := make([]*messages.Ticket, len(p.tickets))
	for i, t := range p.tickets {
		r := *t.record
		r.Match = p.record.ID
		r.Players = slices.Clone(r.Players)
		for j := range r.Players {
			r.Players[j].Team = teams[r.Players[j].ID]
		}
		next[i] = &r
	}
	created := potentialEvent(p, next, rules, now)
	if config.AcceptanceRequired {
		return m.apply(c, change{match: p, record: p.record, held: true, moves: p.moves(next, now, always(matchProposed)), events: []messages.Event{created}})
	}
	return m.accepted(c, p, next, created)
}

// accepted returns the entry that begins the placement of a match. For a STANDALONE configuration, the entry
// completes the match.
func (m *Manager) accepted(c *stage.Context, p *proposal, tickets []*messages.Ticket, events ...messages.Event) ledger.Entry {
	now := c.Now()
	if p.k.record.Standalone {
		moves := p.moves(tickets, now, always(matchCompleted))
		return m.apply(c, change{match: p, record: p.record, moves: moves, events: append(events, succeededEvent(p, recordsOf(moves), nil, now))})
	}
	record := *p.record
	record.Placing, record.Answers = true, nil
	e := m.apply(c, change{match: p, record: &record, held: true, moves: p.moves(tickets, now, always(matchPlacing)), events: events})
	apply := e.Apply
	e.Apply = func() {
		apply()
		_ = fault.Hit(fault.MatchPlacing)
		m.place(c, p)
	}
	return e
}

// hold records that the tickets are in a match and no longer wait, and starts the deadline for acceptance.
func (m *Manager) hold(c *stage.Context, p *proposal) {
	m.proposals[p.record.ID] = p
	for _, t := range p.tickets {
		t.timeout.clear()
		t.proposal = p
	}
	if p.record.Placing {
		p.deadline.clear()
		return
	}
	p.deadline.set(c, p.record.Proposed.Add(p.k.record.AcceptWithin()), func(c *stage.Context) { m.onDeadline(c, p) })
}

func (m *Manager) onAccept(c *stage.Context, r stage.Request[messages.AcceptMatch, stage.None]) {
	reply := r.With(new(stage.None))
	t, err := m.find(c, r.Request.TicketID)
	switch {
	case err != nil:
		reply(err)
		return
	case t.proposal == nil || t.record.Backfill != nil: // players of backfill tickets are not asked
		reply(notAsked(t))
		return
	}
	p := t.proposal
	m.ledger.Do(ledger.Transaction{Key: p.key(), Uses: p.ticketKeys(), WaitingMax: m.o.ActiveMax, Reply: reply, Decide: func() (ledger.Entry, error) {
		if t.proposal != p || t.record.Status != messages.TicketRequiresAcceptance {
			return ledger.Entry{}, notAsked(t)
		}
		for _, id := range r.Request.Players {
			if !t.has(id) {
				return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "player %q is not in ticket %s", clip(string(id)), t.id())
			}
		}
		return m.answering(c, p, &r.Request), nil
	}})
}

func clip(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

func notAsked(t *ticket) error {
	return messages.Errorf(messages.InvalidRequest, "ticket %s is %s: it has no match to accept", t.id(), t.record.Status)
}

func (t *ticket) has(id messages.PlayerID) bool {
	return slices.ContainsFunc(t.record.Players, func(p messages.TicketPlayer) bool { return p.ID == id })
}

// answering returns the entry for an answer. The entry ends the match if the answer is no, and accepts the
// match if it is the last answer.
func (m *Manager) answering(c *stage.Context, p *proposal, r *messages.AcceptMatch) ledger.Entry {
	now := c.Now()
	record := *p.record
	record.Answers = maps.Clone(record.Answers)
	if record.Answers == nil {
		record.Answers = map[messages.PlayerID]bool{}
	}
	for _, id := range r.Players {
		record.Answers[id] = r.Accept
	}
	answered := p.acceptanceEvent(&record, detail{Type: "AcceptMatch"}, now)
	if !r.Accept {
		ch := p.dropped(now, &record, acceptanceRejected, func(t *ticket) occurrence {
			if t.id() == r.TicketID {
				return playerRejected
			}
			return matchDropped
		})
		ch.events = slices.Insert(ch.events, 0, answered)
		return m.apply(c, ch)
	}
	for _, t := range p.tickets {
		if !hasAccepted(&record, t) {
			return ledger.Entry{
				Changes: []store.Change{store.Put(store.Match, string(record.ID), &record)}, Events: []messages.Event{answered},
				Apply: func() { p.record = &record },
			}
		}
	}
	return m.accepted(c, p, p.records(), answered, p.acceptanceEvent(&record, detail{Type: "AcceptMatchCompleted", Acceptance: acceptanceAccepted}, now))
}

func hasAccepted(r *messages.Match, t *ticket) bool {
	return t.record.Backfill != nil || !slices.ContainsFunc(t.record.Players, func(p messages.TicketPlayer) bool { return !r.Answers[p.ID] })
}

// dropped returns the change that ends a match that was not accepted. record contains all answers.
func (p *proposal) dropped(now time.Time, record *messages.Match, how acceptance, what func(*ticket) occurrence) change {
	ended := p.acceptanceEvent(record, detail{Type: "AcceptMatchCompleted", Acceptance: how}, now)
	return change{match: p, record: record, moves: p.moves(p.records(), now, what), events: []messages.Event{ended}}
}

// onDeadline ends a match that was not accepted in time. It retries if the store refuses.
func (m *Manager) onDeadline(c *stage.Context, p *proposal) {
	m.ledger.Do(ledger.Transaction{
		Key: p.key(), Uses: p.ticketKeys(), WaitingMax: m.o.ActiveMax,
		Decide: func() (ledger.Entry, error) {
			if m.proposals[p.record.ID] != p || p.record.Placing {
				return ledger.Entry{}, errMoved
			}
			return m.apply(c, p.dropped(c.Now(), p.record, acceptanceTimedOut, func(t *ticket) occurrence {
				if hasAccepted(p.record, t) {
					return matchDropped
				}
				return playerSilent
			})), nil
		},
		Reply: func(err error) {
			if err != nil && m.proposals[p.record.ID] == p && !p.record.Placing {
				p.deadline.set(c, c.Now().Add(retryAfter), func(c *stage.Context) { m.onDeadline(c, p) })
			}
		},
	})
}
