package matchmaker

import (
	"cmp"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// ticket is one use of a ticket id.
type ticket struct {
	record    *messages.Ticket // as the API shows it, once durable
	size      int              // approximate bytes of the record
	forgotten bool

	// While it has not ended.
	k         *matchmaker
	proposal  *proposal // the match that it is in
	proposing bool      // a match with it is being stored
	timeout   alarm     // while it waits for a match
}

func (t *ticket) id() messages.TicketID { return t.record.ID }

// waits reports whether the ticket is in no match that is durable.
func (t *ticket) waits() bool { return t.proposal == nil && !t.record.Status.Final() }

// expired reports whether the request timeout is over.
func (t *ticket) expired(now time.Time) bool {
	return now.Sub(t.record.Started) >= t.k.record.RequestTimeout
}

func ticketKey(id messages.TicketID) ledger.Key {
	return ledger.Key{Kind: store.Ticket, ID: string(id)}
}

// onStart starts a ticket. The request is answered when the ticket is durable.
func (m *Manager) onStart(c *stage.Context, r stage.Request[messages.StartMatchmaking, *messages.Ticket]) {
	record := &messages.Ticket{ID: r.Request.TicketID, Matchmaker: r.Request.Matchmaker, Players: r.Request.Players}
	m.start(c, record, newTicket{}, r.Reply)
}

// newTicket is what the start of a ticket has besides its record. Functions may be nil.
type newTicket struct {
	uses   []ledger.Key                              // records that must not change meanwhile
	check  func(*matchmaker) ([]store.Change, error) // returns what is stored with the ticket
	apply  func(*ticket)                             // called before the ticket waits
	revoke func()                                    // called if the store refuses the ticket
}

// start starts a ticket. It owns the record.
func (m *Manager) start(c *stage.Context, record *messages.Ticket, n newTicket, reply func(*messages.Ticket, error)) {
	id := record.ID
	record.Status = messages.TicketQueued
	orphaned := false // the record is durable, and the next Manager continues
	m.ledger.Do(ledger.Transaction{
		Key: ticketKey(id), Uses: n.uses, WaitingMax: m.o.ActiveMax,
		Orphaned: func(err error) { orphaned = err == nil },
		Reply: func(err error) {
			if orphaned {
				err = nil
			}
			reply(orNil(record, err))
		},
		Decide: func() (ledger.Entry, error) {
			k, err := m.admit(record, c.Now())
			if err != nil {
				return ledger.Entry{}, err
			}
			var more []store.Change
			if n.check != nil {
				if more, err = n.check(k); err != nil {
					return ledger.Entry{}, err
				}
			}
			record.Started, record.ARN = c.Now(), k.record.ARN
			change := store.Put(store.Ticket, string(id), record)
			size := len(change.Value)
			if !m.memory.room(size+m.ledger.Claimed(store.Ticket).Bytes, m.o.BytesMax) {
				return ledger.Entry{}, tooMany()
			}
			m.forget(record.Started, size)
			k.starting++
			return ledger.Entry{
				Changes: append(more, change), Claim: ledger.Claim{Count: 1, Bytes: size},
				Apply: func() {
					k.starting--
					t := m.add(k, record, size)
					if n.apply != nil {
						n.apply(t)
					}
					m.begin(c, t)
				},
				Refused: func() {
					k.starting--
					if n.revoke != nil {
						n.revoke()
					}
				},
			}, nil
		},
	})
}

// admit checks the request against the current state and returns its configuration.
func (m *Manager) admit(r *messages.Ticket, now time.Time) (*matchmaker, error) {
	if m.draining {
		return nil, messages.Errorf(messages.Unavailable, "the host is shutting down")
	}
	k, err := m.matchmaker(r.Matchmaker)
	if err != nil {
		return nil, err
	}
	t := m.tickets[r.ID]
	switch {
	case k.rules == nil:
		return nil, messages.Errorf(messages.NotFound, "rule set %s of the matchmaking configuration %s is not known here", k.record.RuleSet, r.Matchmaker)
	case t != nil && !m.gone(t, now):
		return nil, messages.Errorf(messages.InvalidRequest, "ticket %s exists: it is %s", r.ID, t.record.Status)
	case m.damaged[store.Ticket][string(r.ID)]:
		return nil, messages.Errorf(messages.InvalidRequest, "ticket %s has existed, and its record in the store is damaged: use another id", r.ID)
	case m.active+m.ledger.Claimed(store.Ticket).Count >= m.o.ActiveMax:
		return nil, tooMany()
	}
	return k, checkTypes(k.rules.set, r.Players)
}

func tooMany() error {
	return messages.Errorf(messages.LimitExceeded, "too many matchmaking tickets wait on this host")
}

// checkTypes refuses an attribute of another type than the rule set declares (FM-40).
func checkTypes(set *ruleset.RuleSet, players []messages.TicketPlayer) error {
	for _, a := range set.Attributes {
		for i := range players {
			v, ok := players[i].Attributes[a.Name]
			if ok && attributeTypes[v.Kind] != a.Type {
				return messages.Errorf(messages.InvalidRequest, "Players[%d].PlayerAttributes[%s]: the rule set declares a %s, and %s is a %s", i, a.Name, a.Type, v.Kind, attributeTypes[v.Kind])
			}
		}
	}
	return nil
}

var attributeTypes = map[messages.AttributeKind]ruleset.AttributeType{
	messages.AttributeText: ruleset.String, messages.AttributeNumber: ruleset.Number,
	messages.AttributeTexts: ruleset.StringList, messages.AttributeMap: ruleset.StringNumberMap,
}

// add creates the entry of a ticket that has not ended.
func (m *Manager) add(k *matchmaker, record *messages.Ticket, size int) *ticket {
	t := &ticket{record: record, k: k, size: size}
	t.timeout.fire = func(c *stage.Context) { m.onTimeout(c, t) }
	m.tickets[record.ID] = t
	m.memory.bytes += size
	m.active++
	k.tickets[record.ID] = t
	return t
}

// begin lets a new ticket wait for a match, in place of other tickets of its players (FM-23).
func (m *Manager) begin(c *stage.Context, t *ticket) {
	for i := range t.record.Players {
		p := t.record.Players[i].ID
		old := m.players[p]
		if old != nil && t.automatic() {
			continue // a request of the player's own goes first
		}
		m.players[p] = t
		if old != nil && old != t {
			m.supersede(c, old, p)
		}
	}
	m.wait(c, t)
}

// wait lets a ticket wait for a match. If a newer one has superseded it while it was PLACING, it ends: the two could never be in
// one match, and would prevent it each time.
func (m *Manager) wait(c *stage.Context, t *ticket) {
	for i := range t.record.Players {
		p := t.record.Players[i].ID
		if m.players[p] == nil { // the newer one has ended
			m.players[p] = t
		}
		if m.players[p] != t {
			m.supersede(c, t, p)
			break
		}
	}
	m.setAlarm(c, &t.timeout, t.record.Started.Add(t.k.record.RequestTimeout))
	m.enqueue(t)
}

// rearm applies a new request timeout to the tickets that wait.
func (m *Manager) rearm(c *stage.Context, k *matchmaker) {
	for _, t := range k.waiting() {
		m.setAlarm(c, &t.timeout, t.record.Started.Add(k.record.RequestTimeout))
	}
}

// waiting returns the tickets of a configuration that are in its pool, or about to be, in no order.
func (k *matchmaker) waiting() (all []*ticket) {
	for _, t := range k.tickets {
		if t.waits() && !t.proposing {
			all = append(all, t)
		}
	}
	return all
}

// enqueue gives a ticket to the matcher.
func (m *Manager) enqueue(t *ticket) {
	if t.k.matcher != nil {
		t.k.matcher.Tell(addTicket{matchTicket(t.k.rules.set, t.record)})
	}
}

// dequeue takes a ticket from the matcher.
func (m *Manager) dequeue(t *ticket) {
	if t.k.matcher != nil {
		t.k.matcher.Tell(removeTicket{t.id()})
	}
}

// matchTicket is a ticket as package match wants it, with the declared attributes.
func matchTicket(set *ruleset.RuleSet, r *messages.Ticket) match.Ticket {
	t := match.Ticket{ID: string(r.ID), Start: r.Started, Players: make([]match.Player, len(r.Players))}
	if b := r.Backfill; b != nil {
		t.Backfill, t.Room = cmp.Or(string(b.Session), t.ID), b.Room
	}
	for i := range r.Players {
		p := &r.Players[i]
		values := make(map[string]ruleset.Value, len(set.Attributes))
		for _, a := range set.Attributes {
			if v, ok := p.Attributes[a.Name]; ok {
				values[a.Name] = ruleset.Value{Type: attributeTypes[v.Kind], S: v.S, N: v.N, SL: v.SL, SDM: v.SDM}
			}
		}
		t.Players[i] = match.Player{ID: string(p.ID), Attributes: values, Latencies: p.Latencies}
		if t.Backfill != "" {
			t.Players[i].Team = p.Team
		}
	}
	return t
}

// get reads tickets, without unknown ones (FM-38).
func (m *Manager) get(c *stage.Context, ids []messages.TicketID) []*messages.Ticket {
	found := make([]*messages.Ticket, 0, len(ids))
	now := c.Now()
	for _, id := range ids {
		t := m.tickets[id]
		if t == nil || m.gone(t, now) {
			continue
		}
		shown := t.record
		if t.waits() && t.record.Backfill == nil {
			if wait, ok := t.k.recent.Estimate(now, now.Sub(t.record.Started)); ok {
				estimated := *t.record
				estimated.EstimatedWait = max(wait, time.Second)
				shown = &estimated
			}
		}
		found = append(found, shown)
	}
	return found
}

// find returns a ticket that has not been forgotten.
func (m *Manager) find(c *stage.Context, id messages.TicketID) (*ticket, error) {
	if t := m.tickets[id]; t != nil && !m.gone(t, c.Now()) {
		return t, nil
	}
	if m.damaged[store.Ticket][string(id)] {
		return nil, messages.Errorf(messages.NotFound, "ticket %s is not known here: its record in the store is damaged", id)
	}
	return nil, messages.Errorf(messages.NotFound, "ticket %s is not known here", id)
}

// search makes tickets that a pass has taken into its pool SEARCHING, in one transaction.
func (m *Manager) search(c *stage.Context, ids []messages.TicketID) {
	m.batches++
	t := ledger.Transaction{Key: ledger.Key{Kind: store.Match, ID: passName(m.batches)}, WaitingMax: m.o.ActiveMax}
	for _, id := range ids {
		if e := m.tickets[id]; e != nil && e.record.Status == messages.TicketQueued {
			t.Uses = append(t.Uses, ticketKey(id))
		}
	}
	if len(t.Uses) == 0 {
		return
	}
	t.Decide = func() (ledger.Entry, error) {
		var entry ledger.Entry
		found := map[*ticket]*messages.Ticket{}
		now := c.Now()
		for _, key := range t.Uses {
			e := m.tickets[messages.TicketID(key.ID)]
			if e == nil || e.record.Status != messages.TicketQueued || !e.waits() || e.proposing {
				continue
			}
			next := *e.record
			next.Status = messages.TicketSearching
			found[e] = &next
			entry.Changes = append(entry.Changes, store.Put(store.Ticket, key.ID, &next))
			entry.Events = append(entry.Events, searching(e.k, &next, now))
		}
		if len(found) == 0 {
			return entry, errMoved
		}
		entry.Apply = func() {
			for e, next := range found {
				e.record = next
			}
		}
		return entry, nil
	}
	t.Reply = func(err error) {
		if err != nil && err != errMoved {
			c.After(retryAfter, passing{ids})
		}
	}
	m.ledger.Do(t)
}
