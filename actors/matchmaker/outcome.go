package matchmaker

import (
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// outcome is the next record of a ticket.
type outcome struct {
	t    *ticket
	next *messages.Ticket
}

// ended returns the record of a ticket that ends.
func (t *ticket) ended(now time.Time, status messages.TicketStatus, reason, text string) *messages.Ticket {
	next := *t.record
	next.Status, next.Reason, next.Text, next.Ended = status, reason, text, now
	if status != messages.TicketCompleted {
		next.Game = nil // of a backfill ticket
	}
	if next.Ended.Before(next.Started) { // the wall clock was set back
		next.Ended = next.Started
	}
	return &next
}

// returned returns the record of a ticket that goes back to the pool, or ends because its timeout is over (flexmatch.md 13.4).
func (t *ticket) returned(now time.Time, reason string) *messages.Ticket {
	next := *t.record
	if next.Backfill == nil {
		next.Players = withoutTeams(next.Players)
	}
	if t.expired(now) {
		e := (&ticket{record: &next}).ended(now, messages.TicketTimedOut, reasonTimedOut, textTimedOut)
		return e
	}
	next.Status, next.Reason, next.Match = messages.TicketSearching, reason, ""
	return &next
}

func withoutTeams(players []messages.TicketPlayer) []messages.TicketPlayer {
	next := make([]messages.TicketPlayer, len(players))
	for i, p := range players {
		p.Team = ""
		next[i] = p
	}
	return next
}

// applying returns the entry that gives tickets their next records: those that have ended leave, and those that are SEARCHING
// wait again. A match ends with it.
func (m *Manager) applying(c *stage.Context, p *proposal, outcomes []outcome, events ...messages.Event) ledger.Entry {
	e := ledger.Entry{Events: events}
	m.forget(c.Now(), 0)
	sizes := make([]int, len(outcomes))
	for i, o := range outcomes {
		change := store.Put(store.Ticket, string(o.next.ID), o.next)
		e.Changes, sizes[i] = append(e.Changes, change), len(change.Value)
	}
	if p != nil {
		e.Changes = append(e.Changes, store.Delete(store.Match, string(p.record.ID)))
	}
	e.Apply = func() {
		if p != nil {
			m.alarms.clear(&p.deadline)
			delete(m.proposals, p.record.ID)
		}
		for i, o := range outcomes {
			m.memory.resize(o.t, sizes[i])
			pooled := o.t.waits() && !o.t.proposing
			o.t.record, o.t.proposal = o.next, nil
			if o.next.Status.Final() {
				m.finish(o.t, pooled)
			} else {
				m.wait(c, o.t)
			}
		}
		for _, o := range outcomes { // once the players of the others are free
			if o.next.Status.Final() {
				m.backfillEnded(c, o.t)
			} else {
				m.recheck(c, o.t)
			}
		}
	}
	return e
}

// finish removes a ticket that has ended from everything but the records that are kept.
func (m *Manager) finish(t *ticket, pooled bool) {
	m.alarms.clear(&t.timeout)
	if pooled {
		m.dequeue(t)
	}
	if t.record.Status == messages.TicketCompleted && t.record.Backfill == nil {
		t.k.recent.Add(t.record.Ended, t.record.Ended.Sub(t.record.Started))
	}
	t.k.ended[t.record.Status]++
	for i := range t.record.Players {
		if p := t.record.Players[i].ID; m.players[p] == t {
			delete(m.players, p)
		}
	}
	m.active--
	delete(t.k.tickets, t.id())
	t.k = nil
	m.memory.add(t)
}
