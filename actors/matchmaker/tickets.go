package matchmaker

import (
	"cmp"
	"strconv"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// ticket is a matchmaking ticket. When a ticket has expired, its ID can be used for another one.
type ticket struct {
	record *messages.Ticket // the durable record, as the API shows it
	kept   ledger.Kept

	// used until the ticket ends
	k         *matchmaker
	proposal  *proposal // the match that contains the ticket; nil while it waits
	proposing bool      // a match with the ticket is being committed
	timeout   alarm     // set while the ticket waits
}

func (t *ticket) id() messages.TicketID { return t.record.ID }

// waits reports whether the ticket is in no match and has not ended.
func (t *ticket) waits() bool { return t.proposal == nil && !t.record.Status.Final() }

func ticketKey(id messages.TicketID) ledger.Key {
	return ledger.Key{Kind: store.Ticket, ID: string(id)}
}

// onStart starts a ticket. The request is answered when the ticket is durable.
func (m *Manager) onStart(c *stage.Context, r stage.Request[messages.StartMatchmaking, *messages.Ticket]) {
	record := &messages.Ticket{ID: r.Request.TicketID, Matchmaker: r.Request.Matchmaker, Players: r.Request.Players, Call: r.Request.Call}
	m.start(c, record, newTicket{}, r.With(&record))
}

// newTicket contains options for start. The functions may be nil.
type newTicket struct {
	uses  []ledger.Key                              // keys of records that must not change during the commit
	check func(*matchmaker) ([]store.Change, error) // may refuse the ticket; returns further changes to commit
	apply func(*ticket)                             // called before the ticket begins to wait
}

// start starts a ticket. The caller must not modify the record afterwards.
func (m *Manager) start(c *stage.Context, record *messages.Ticket, n newTicket, reply func(error)) {
	id := record.ID
	record.Status = messages.TicketQueued
	m.ledger.Do(ledger.Transaction{
		Key: ticketKey(id), Uses: n.uses, WaitingMax: m.o.ActiveMax, Survives: true, Reply: reply,
		Decide: func() (ledger.Entry, error) {
			if old := m.tickets[id]; old != nil && messages.SameCall(old.record.Call, record.Call) {
				*record = *old.record
				return ledger.Entry{}, nil
			}
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
			if !m.retention.Fits(size) {
				return ledger.Entry{}, tooMany()
			}
			m.retention.Forget(record.Started, size)
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
				Refused: func() { k.starting-- },
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
	case t != nil && !m.retention.Expired(&t.kept, now):
		return nil, messages.Errorf(messages.InvalidRequest, "ticket %s exists: it is %s", r.ID, t.record.Status)
	case m.unread.Has(store.Ticket, string(r.ID)):
		return nil, messages.Errorf(messages.InvalidRequest, "ticket %s has existed, and its record in the store is damaged: use another id", r.ID)
	case m.active+m.ledger.Claimed(store.Ticket).Count >= m.o.ActiveMax:
		return nil, tooMany()
	}
	return k, checkTypes(k.rules.set, r.Players)
}

func tooMany() error {
	return messages.Errorf(messages.LimitExceeded, "too many matchmaking tickets wait on this host")
}

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

func (m *Manager) add(k *matchmaker, record *messages.Ticket, size int) *ticket {
	t := &ticket{record: record, k: k}
	if old := m.tickets[record.ID]; old != nil {
		m.retention.Drop(&old.kept)
	}
	m.tickets[record.ID] = t
	m.retention.Add(&t.kept, string(record.ID), size)
	m.active++
	k.tickets[record.ID] = t
	return t
}

func (m *Manager) begin(c *stage.Context, t *ticket) {
	m.claim(c, t)
	m.wait(c, t)
}

// claim registers a ticket as the newest of its players, and supersedes their other tickets.
func (m *Manager) claim(c *stage.Context, t *ticket) {
	for i := range t.record.Players {
		p := t.record.Players[i].ID
		old := m.players[p]
		if old != nil && t.automatic() {
			continue // the player's own ticket has precedence
		}
		m.players[p] = t
		if old != nil && old != t {
			m.supersede(c, old, p)
		}
	}
}

// wait makes a ticket wait for a match. If a newer ticket superseded it during PLACING, wait cancels it.
func (m *Manager) wait(c *stage.Context, t *ticket) {
	for i := range t.record.Players {
		p := t.record.Players[i].ID
		if m.players[p] == nil { // the newer ticket has ended
			m.players[p] = t
		}
		if m.players[p] != t {
			m.supersede(c, t, p)
			break
		}
	}
	m.setTimeout(c, t)
	m.enqueue(t)
}

func (m *Manager) setTimeout(c *stage.Context, t *ticket) {
	t.timeout.set(c, t.record.Started.Add(t.k.record.RequestTimeout), func(c *stage.Context) { m.leave(c, t, requestTimedOut) })
}

// waiting returns, in no particular order, the tickets that the matcher of a configuration has or must get.
func (k *matchmaker) waiting() (all []*ticket) {
	for _, t := range k.tickets {
		if t.waits() && !t.proposing {
			all = append(all, t)
		}
	}
	return all
}

func (m *Manager) enqueue(t *ticket) {
	if t.k.matcher != nil {
		t.k.matcher.Tell(addTicket{matchTicket(t.k.rules.set, t.record)})
	}
}

// matchTicket converts a ticket for package match. It omits attributes that the rule set does not declare.
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

// get returns the records of tickets. It omits unknown tickets.
func (m *Manager) get(c *stage.Context, ids []messages.TicketID) []*messages.Ticket {
	found := make([]*messages.Ticket, 0, len(ids))
	now := c.Now()
	for _, id := range ids {
		t, err := m.find(c, id)
		switch {
		case err != nil:
		case t.waits() && t.record.Backfill == nil:
			found = append(found, t.estimated(now))
		default:
			found = append(found, t.record)
		}
	}
	return found
}

// estimated returns the record of a waiting ticket with an estimate of the remaining wait time, if there is
// one.
func (t *ticket) estimated(now time.Time) *messages.Ticket {
	wait, ok := t.k.recent.Estimate(now, now.Sub(t.record.Started))
	if !ok {
		return t.record
	}
	shown := *t.record
	shown.EstimatedWait = max(wait, time.Second)
	return &shown
}

// find returns a ticket, unless it has expired.
func (m *Manager) find(c *stage.Context, id messages.TicketID) (*ticket, error) {
	if t := m.tickets[id]; t != nil && !m.retention.Expired(&t.kept, c.Now()) {
		return t, nil
	}
	if m.unread.Has(store.Ticket, string(id)) {
		return nil, messages.Errorf(messages.NotFound, "ticket %s is not known here: its record in the store is damaged", id)
	}
	return nil, messages.Errorf(messages.NotFound, "ticket %s is not known here", id)
}

// onTicketsPooled makes the tickets that entered the pool SEARCHING, in one transaction.
func (m *Manager) onTicketsPooled(c *stage.Context, ids []messages.TicketID) {
	m.batches++ // the key belongs to no record
	t := ledger.Transaction{Key: ledger.Key{Kind: store.Match, ID: "pass/" + strconv.FormatUint(m.batches, 10)}, WaitingMax: m.o.ActiveMax}
	for _, id := range ids {
		if e := m.tickets[id]; e != nil && e.record.Status == messages.TicketQueued {
			t.Uses = append(t.Uses, ticketKey(id))
		}
	}
	if len(t.Uses) == 0 {
		return
	}
	t.Decide = func() (ledger.Entry, error) {
		var ch change
		now := c.Now()
		for _, key := range t.Uses {
			if e := m.tickets[messages.TicketID(key.ID)]; e != nil && e.record.Status == messages.TicketQueued && !e.proposing {
				ch.moves = append(ch.moves, e.move(e.record, ticketPooled, now))
			}
		}
		if ch.moves == nil {
			return ledger.Entry{}, errMoved
		}
		return m.apply(c, ch), nil
	}
	t.Reply = func(err error) {
		if err != nil && err != errMoved {
			c.After(retryAfter, ticketsPooled{ids})
		}
	}
	m.ledger.Do(t)
}
