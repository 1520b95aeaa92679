package matchmaker

import (
	"errors"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/messages"
)

// errMoved means that a ticket changed its match or ended before its transaction began.
var errMoved = errors.New("the ticket has moved")

func (m *Manager) onStop(c *stage.Context, r stage.Request[messages.StopMatchmaking, stage.None]) {
	reply := r.With(new(stage.None))
	t, err := m.find(c, r.Request.ID)
	switch g := m.announced(r.Request.ID); {
	case g != nil:
		m.turnOff(c, g, reply)
	case err != nil:
		reply(err)
	default:
		m.cancel(c, t, textCancelled, true, reply)
	}
}

// supersede cancels a ticket because a newer one names player p. A ticket in PLACING is cancelled only when
// it returns to the pool. If the store refuses, supersede retries. Until it succeeds, no match with the
// ticket is committed (see free).
func (m *Manager) supersede(c *stage.Context, t *ticket, p messages.PlayerID) {
	if t.record.Status == messages.TicketPlacing || t.record.Status.Final() || m.players[p] == t {
		return
	}
	m.cancel(c, t, "A newer ticket has the player "+string(p)+".", false, func(err error) {
		if err != nil && !errors.Is(err, &messages.Error{Code: messages.InvalidRequest}) {
			c.After(retryAfter, runLater{func(c *stage.Context) { m.supersede(c, t, p) }})
		}
	})
}

// cancel ends a ticket as CANCELLED and ends its match. If stop is true, cancelling an automatic ticket also
// turns off automatic backfill.
func (m *Manager) cancel(c *stage.Context, t *ticket, text string, stop bool, reply func(error)) {
	p := t.proposal
	do := ledger.Transaction{Key: ticketKey(t.id()), WaitingMax: m.o.ActiveMax}
	if p != nil {
		do.Key, do.Uses = p.key(), p.ticketKeys()
	}
	if stop && t.automatic() {
		do.Uses = append(do.Uses, gameKey(t.record.Backfill.Session))
	}
	do.Decide = func() (ledger.Entry, error) {
		now := c.Now()
		var ch change
		switch s := t.record.Status; {
		case !s.Final() && t.proposal != p:
			return ledger.Entry{}, errMoved
		case s.Final(), s == messages.TicketPlacing:
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "Matchmaking ticket is in %s status and cannot be canceled.", s)
		case p != nil:
			ch = p.dropped(now, p.record, acceptanceRejected, func(o *ticket) occurrence {
				if o == t {
					return ticketCancelled
				}
				return matchDropped
			})
		default:
			ch.moves = []move{t.move(t.record, ticketCancelled, now)}
		}
		for _, mv := range ch.moves {
			if mv.t == t {
				mv.next.Text = text
			}
		}
		return m.stopping(t, stop, m.apply(c, ch)), nil
	}
	do.Reply = func(err error) {
		if errors.Is(err, errMoved) { // only Decide returns it, so this runs in the actor
			m.cancel(c, t, text, stop, reply)
			return
		}
		reply(err)
	}
	m.ledger.Do(do)
}

// leave ends a waiting ticket because of requestTimedOut or configurationDeleted. It retries if the store
// refuses.
func (m *Manager) leave(c *stage.Context, t *ticket, what occurrence) {
	m.ledger.Do(ledger.Transaction{
		Key: ticketKey(t.id()), WaitingMax: m.o.ActiveMax,
		Decide: func() (ledger.Entry, error) {
			now := c.Now()
			if !t.waits() || what == requestTimedOut && now.Sub(t.record.Started) < t.k.record.RequestTimeout {
				return ledger.Entry{}, errMoved
			}
			return m.apply(c, change{moves: []move{t.move(t.record, what, now)}}), nil
		},
		Reply: func(err error) {
			if err != nil && t.waits() {
				t.timeout.set(c, c.Now().Add(retryAfter), func(c *stage.Context) { m.leave(c, t, what) })
			}
		},
	})
}
