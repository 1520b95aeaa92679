package matchmaker

import (
	"errors"
	"strconv"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/messages"
)

// errMoved says that a ticket is in another match, or in none, when its transaction begins.
var errMoved = errors.New("the ticket has moved")

// passName names the transaction of a pass; it is no record.
func passName(n uint64) string { return "pass/" + strconv.FormatUint(n, 10) }

// Causes of the ends of tickets (flexmatch.md 13.1).
const (
	reasonCancelled  = "Cancelled"
	reasonAcceptance = "AcceptanceFailed"
	reasonPlacement  = "PlacementTimedOut"
	reasonTimedOut   = "TimedOut"
	reasonError      = "UNEXPECTED_ERROR"
	reasonBackfill   = "BackfillFailed"

	textCancelled = "Cancelled by request."
	textTimedOut  = "Removed from matchmaking due to timing out."
	textError     = "An unexpected error was encountered during match placing."
)

// onStop cancels a ticket for its caller.
func (m *Manager) onStop(c *stage.Context, r stage.Request[messages.StopMatchmaking, stage.None]) {
	t, err := m.find(c, r.Request.ID)
	if g := m.announced(r.Request.ID); g != nil {
		m.turnOff(c, g, func(err error) { r.Reply(stage.None{}, err) })
		return
	}
	if err != nil {
		r.Reply(stage.None{}, err)
		return
	}
	m.cancel(c, t, textCancelled, true, func(err error) { r.Reply(stage.None{}, err) })
}

// superseded says that the store has refused to cancel a ticket because of a newer one.
type superseded struct {
	t *ticket
	p messages.PlayerID
}

// supersede cancels a ticket because a newer one names one of its players. One in PLACING is left alone, unless it returns to the
// pool. If the store refuses it, it is tried again: until then no match with the ticket becomes durable.
func (m *Manager) supersede(c *stage.Context, t *ticket, p messages.PlayerID) {
	if t.record.Status == messages.TicketPlacing || t.record.Status.Final() || m.players[p] == t {
		return
	}
	m.cancel(c, t, "A newer ticket has the player "+string(p)+".", false, func(err error) {
		if err != nil && !errors.Is(err, &messages.Error{Code: messages.InvalidRequest}) {
			c.After(retryAfter, superseded{t, p})
		}
	})
}

// cancel ends a ticket as CANCELLED. If it is in a match that players are asked to accept, the match is dropped. With stop, no
// automatic backfill follows.
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
		switch s := t.record.Status; {
		case s.Final():
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "Matchmaking ticket is in %s status and cannot be canceled.", s)
		case t.proposal != p:
			return ledger.Entry{}, errMoved
		case s == messages.TicketPlacing:
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "Matchmaking ticket is in %s status and cannot be canceled.", s)
		case p != nil:
			return m.stopping(t, stop, m.drop(c, p, p.record, acceptanceRejected, func(o *ticket) (string, string, bool) { return reasonCancelled, text, o == t })), nil
		}
		return m.stopping(t, stop, m.ending(c, t, messages.TicketCancelled, reasonCancelled, text)), nil
	}
	do.Reply = func(err error) {
		if errors.Is(err, errMoved) { // Decide was called in the actor, and so is this
			m.cancel(c, t, text, stop, reply)
			return
		}
		reply(err)
	}
	m.ledger.Do(do)
}

// onTimeout ends a ticket that has waited for too long. If the store refuses it, it is tried again.
func (m *Manager) onTimeout(c *stage.Context, t *ticket) {
	m.leave(c, t, func() (ledger.Entry, error) {
		if !t.waits() || !t.expired(c.Now()) {
			return ledger.Entry{}, errMoved
		}
		return m.ending(c, t, messages.TicketTimedOut, reasonTimedOut, textTimedOut), nil
	})
}

// leave ends a waiting ticket for a reason that is no request.
func (m *Manager) leave(c *stage.Context, t *ticket, decide func() (ledger.Entry, error)) {
	m.ledger.Do(ledger.Transaction{Key: ticketKey(t.id()), WaitingMax: m.o.ActiveMax, Decide: decide, Reply: func(err error) {
		if err != nil && t.waits() {
			m.setAlarm(c, &t.timeout, c.Now().Add(retryAfter))
		}
	}})
}

// ending returns the entry that ends a waiting ticket.
func (m *Manager) ending(c *stage.Context, t *ticket, status messages.TicketStatus, reason, text string) ledger.Entry {
	next := t.ended(c.Now(), status, reason, text)
	return m.applying(c, nil, []outcome{{t, next}}, endEvent(t.k, next, nil, c.Now()))
}
