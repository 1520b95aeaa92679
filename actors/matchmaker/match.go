package matchmaker

import (
	"maps"

	"github.com/google/uuid"

	"troupe/actors/fault"
	"troupe/actors/ledger"
	"troupe/actors/matchmaker/match"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// proposal is a match whose tickets have not ended.
type proposal struct {
	record   *messages.Match
	k        *matchmaker
	tickets  []*ticket
	deadline alarm // of the acceptance
	try      int   // of the placement, to recognise late answers
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

// acceptance is how the acceptance of a match ended, in the words of the events (D-309).
type acceptance string

const (
	acceptanceAccepted acceptance = "Accepted"
	acceptanceRejected acceptance = "Rejected"
	acceptanceTimedOut acceptance = "TimedOut"
)

// onMatched proposes a match.
func (m *Manager) onMatched(c *stage.Context, r matched) {
	k := m.matchmakers[r.name]
	if k == nil || k.matcher != r.from { // its tickets are in another pool, or will be
		return
	}
	m.propose(c, k, r.match)
}

// propose makes a match durable. If one of its tickets has left meanwhile, or the store refuses the match, the others wait on.
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

// free reports whether all tickets of a match still wait, and none was superseded.
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

// proposing returns the entry that makes a match of its tickets.
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
		r.Match, r.Reason, r.Text = p.record.ID, "", ""
		r.Players = append([]messages.TicketPlayer(nil), r.Players...)
		for j := range r.Players {
			r.Players[j].Team = teams[r.Players[j].ID]
		}
		next[i] = &r
	}
	created := potential(p, next, rules, now)
	if config.AcceptanceRequired {
		for _, r := range next {
			r.Status = messages.TicketRequiresAcceptance
		}
		return ledger.Entry{Changes: changesOf(p.record, next), Events: []messages.Event{created}, Apply: func() {
			p.show(next)
			m.hold(c, p)
		}}
	}
	e := m.accepted(c, p, next)
	e.Events = append([]messages.Event{created}, e.Events...)
	return e
}

// accepted returns the entry of a match that goes on to its game session, or ends without one. It owns next.
func (m *Manager) accepted(c *stage.Context, p *proposal, next []*messages.Ticket) ledger.Entry {
	if p.k.record.Standalone {
		now := c.Now()
		outcomes := make([]outcome, len(next))
		for i, t := range p.tickets {
			outcomes[i] = outcome{t, (&ticket{record: next[i]}).ended(now, messages.TicketCompleted, "", "")}
			next[i] = outcomes[i].next
		}
		return m.applying(c, p, outcomes, succeeded(p, next, nil, now))
	}
	record := *p.record
	record.Placing, record.Answers = true, nil
	for _, r := range next {
		r.Status = messages.TicketPlacing
	}
	return ledger.Entry{Changes: changesOf(&record, next), Apply: func() {
		m.alarms.clear(&p.deadline)
		p.record = &record
		p.show(next)
		m.hold(c, p)
		_ = fault.Hit(fault.MatchPlacing)
		m.place(c, p)
	}}
}

// changesOf returns the changes that store a match and its tickets.
func changesOf(record *messages.Match, next []*messages.Ticket) []store.Change {
	changes := []store.Change{store.Put(store.Match, string(record.ID), record)}
	for _, r := range next {
		changes = append(changes, store.Put(store.Ticket, string(r.ID), r))
	}
	return changes
}

// show gives the tickets of a match their next records.
func (p *proposal) show(next []*messages.Ticket) {
	for i, t := range p.tickets {
		t.record = next[i]
	}
}

// hold takes a match into the Manager: its tickets wait no more.
func (m *Manager) hold(c *stage.Context, p *proposal) {
	m.proposals[p.record.ID] = p
	for _, t := range p.tickets {
		m.alarms.clear(&t.timeout)
		t.proposal = p
	}
	if !p.record.Placing {
		p.deadline.fire = func(c *stage.Context) { m.onDeadline(c, p) }
		m.setAlarm(c, &p.deadline, p.record.Proposed.Add(p.k.record.AcceptWithin()))
	}
}

// onAccept records the answers of players.
func (m *Manager) onAccept(c *stage.Context, r stage.Request[messages.AcceptMatch, stage.None]) {
	reply := func(err error) { r.Reply(stage.None{}, err) }
	t, err := m.find(c, r.Request.TicketID)
	switch {
	case err != nil:
		reply(err)
		return
	case t.proposal == nil || t.record.Backfill != nil: // only the new players are asked
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
	for i := range t.record.Players {
		if t.record.Players[i].ID == id {
			return true
		}
	}
	return false
}

// answering returns the entry of an answer, and of its consequences.
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
	answered := answers(p, &record, now)
	if !r.Accept {
		e := m.drop(c, p, &record, acceptanceRejected, func(t *ticket) (string, string, bool) {
			return reasonAcceptance, "A player of the ticket has rejected the match.", t == m.tickets[r.TicketID]
		})
		e.Events = append([]messages.Event{answered}, e.Events...)
		return e
	}
	for _, t := range p.tickets {
		if !hasAccepted(&record, t) {
			return ledger.Entry{
				Changes: []store.Change{store.Put(store.Match, string(record.ID), &record)}, Events: []messages.Event{answered},
				Apply: func() { p.record = &record },
			}
		}
	}
	next := make([]*messages.Ticket, len(p.tickets))
	for i, t := range p.tickets {
		r := *t.record
		next[i] = &r
	}
	before := []messages.Event{answered, completed(p, &record, acceptanceAccepted, now)} // made before those of accepted: ids grow in the order of events
	e := m.accepted(c, p, next)
	e.Events = append(before, e.Events...)
	return e
}

// hasAccepted reports whether all players of a ticket have accepted a match.
func hasAccepted(r *messages.Match, t *ticket) bool {
	if t.record.Backfill != nil {
		return true
	}
	for i := range t.record.Players {
		if !r.Answers[t.record.Players[i].ID] {
			return false
		}
	}
	return true
}

// drop returns the entry that ends a match which was not accepted; record has all answers. The tickets for which
// cancels reports true become CANCELLED with its reason and text, and the others wait on.
func (m *Manager) drop(c *stage.Context, p *proposal, record *messages.Match, how acceptance, cancels func(*ticket) (reason, text string, yes bool)) ledger.Entry {
	now := c.Now()
	events := []messages.Event{completed(p, record, how, now)}
	outcomes := make([]outcome, len(p.tickets))
	for i, t := range p.tickets {
		next := t.returned(now, reasonAcceptance)
		if reason, text, yes := cancels(t); yes {
			next = t.ended(now, messages.TicketCancelled, reason, text)
		}
		outcomes[i] = outcome{t, next}
		if next.Status == messages.TicketSearching {
			events = append(events, searching(p.k, next, now))
		} else {
			events = append(events, endEvent(p.k, next, record, now))
		}
	}
	return m.applying(c, p, outcomes, events...)
}

// onDeadline drops a match that players did not accept in time. If the store refuses it, it is tried again.
func (m *Manager) onDeadline(c *stage.Context, p *proposal) {
	m.ledger.Do(ledger.Transaction{
		Key: p.key(), Uses: p.ticketKeys(), WaitingMax: m.o.ActiveMax,
		Decide: func() (ledger.Entry, error) {
			if m.proposals[p.record.ID] != p || p.record.Placing {
				return ledger.Entry{}, errMoved
			}
			return m.drop(c, p, p.record, acceptanceTimedOut, func(t *ticket) (string, string, bool) {
				return reasonAcceptance, "A player of the ticket has not accepted the match in time.", !hasAccepted(p.record, t)
			}), nil
		},
		Reply: func(err error) {
			if err != nil && m.proposals[p.record.ID] == p && !p.record.Placing {
				m.setAlarm(c, &p.deadline, c.Now().Add(retryAfter))
			}
		},
	})
}
