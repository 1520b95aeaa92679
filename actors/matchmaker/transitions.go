package matchmaker

import (
	"slices"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// occurrence is an event in the life of a ticket.
type occurrence uint8

const (
	ticketPooled         occurrence = iota // a pass added the ticket to its pool
	matchProposed                          // the players of the ticket's new match are asked to accept it
	matchPlacing                           // the ticket's match needs no further acceptance and is being placed
	matchCompleted                         // the ticket's match has a game session, or its configuration is STANDALONE
	placementTimedOut                      // the ticket's match got no game session in time, or one that has already ended
	placementFailed                        // the ticket's match cannot get a game session
	fillRefused                            // the game session of a backfill match refused the players of the ticket
	backfillRefused                        // the same, for the backfill ticket of that match
	matchDropped                           // players of other tickets did not accept the match
	playerRejected                         // a player of the ticket rejected the match
	playerSilent                           // a player of the ticket did not answer in time
	matchLost                              // the host restarted, and the store does not contain the match
	ticketCancelled                        // cancelled by request, by a newer ticket, or by the end of the game session
	requestTimedOut                        // the request timeout of the configuration has passed
	configurationDeleted                   // the configuration was deleted
	occurrences
)

// transition is the effect of an occurrence on a ticket.
type transition struct {
	from   statuses
	to     messages.TicketStatus
	reason string
	text   string
	// own means that the ticket gets an event of its own. Otherwise one event about the match reports all its
	// tickets.
	own bool
}

// statuses is a set of statuses; status s is bit 1<<s.
type statuses uint16

const (
	whileWaiting   statuses = 1<<messages.TicketQueued | 1<<messages.TicketSearching
	whileAccepting statuses = 1 << messages.TicketRequiresAcceptance
	whilePlacing   statuses = 1 << messages.TicketPlacing
)

// Reasons for the end of a ticket (flexmatch.md 13.1).
const (
	reasonCancelled  = "Cancelled"
	reasonAcceptance = "AcceptanceFailed"
	reasonPlacement  = "PlacementTimedOut"
	reasonTimedOut   = "TimedOut"
	reasonError      = "UNEXPECTED_ERROR"
	reasonBackfill   = "BackfillFailed"

	textCancelled = "Cancelled by request."
	textError     = "An unexpected error was encountered during match placing."
	textGameEnded = "The game session has ended."
	textReplaced  = "A newer backfill request for the game session replaces this one."
)

// transitions defines all changes of status. A ticket that would return to the pool after its timeout ends
// with requestTimedOut instead (flexmatch.md 13.4).
var transitions = [occurrences]transition{
	ticketPooled:         {1 << messages.TicketQueued, messages.TicketSearching, "", "", true},
	matchProposed:        {whileWaiting, messages.TicketRequiresAcceptance, "", "", false},
	matchPlacing:         {whileWaiting | whileAccepting, messages.TicketPlacing, "", "", false},
	matchCompleted:       {whileWaiting | whileAccepting | whilePlacing, messages.TicketCompleted, "", "", false},
	placementTimedOut:    {whilePlacing, messages.TicketSearching, reasonPlacement, "", true},
	placementFailed:      {whilePlacing, messages.TicketFailed, reasonError, textError, false},
	fillRefused:          {whilePlacing, messages.TicketSearching, reasonBackfill, "", true},
	backfillRefused:      {whilePlacing, messages.TicketFailed, reasonError, "The game session is not there, or has no seats for the match.", true},
	matchDropped:         {whileAccepting, messages.TicketSearching, reasonAcceptance, "", true},
	playerRejected:       {whileAccepting, messages.TicketCancelled, reasonAcceptance, "A player of the ticket has rejected the match.", true},
	playerSilent:         {whileAccepting, messages.TicketCancelled, reasonAcceptance, "A player of the ticket has not accepted the match in time.", true},
	matchLost:            {whileAccepting | whilePlacing, messages.TicketSearching, reasonPlacement, "", false},
	ticketCancelled:      {whileWaiting | whileAccepting, messages.TicketCancelled, reasonCancelled, textCancelled, true},
	requestTimedOut:      {whileWaiting, messages.TicketTimedOut, reasonTimedOut, "Removed from matchmaking due to timing out.", true},
	configurationDeleted: {whileWaiting, messages.TicketFailed, reasonError, "The matchmaking configuration of the ticket does not exist any more.", true},
}

// after returns the record of a ticket after an occurrence, or nil if the status of the ticket does not allow
// it. timeout is the request timeout of the configuration.
func after(r *messages.Ticket, what occurrence, now time.Time, timeout time.Duration) *messages.Ticket {
	t := transitions[what]
	if t.from&(1<<r.Status) == 0 {
		return nil
	}
	next := *r
	if t.to == messages.TicketSearching && r.Match != "" {
		if r.Backfill == nil {
			next.Players = slices.Clone(r.Players)
			for i := range next.Players {
				next.Players[i].Team = ""
			}
		}
		if now.Sub(r.Started) >= timeout {
			t = transitions[requestTimedOut]
		} else {
			next.Match = ""
		}
	}
	next.Status, next.Reason, next.Text = t.to, t.reason, t.text
	if t.to.Final() {
		next.Ended = now
		if now.Before(next.Started) { // the wall clock was set back
			next.Ended = next.Started
		}
		if t.to != messages.TicketCompleted {
			next.Game = nil // it is set in a backfill ticket
		}
	}
	return &next
}

// move is a ticket with its next record.
type move struct {
	t    *ticket
	next *messages.Ticket
	own  bool
}

// move returns the move of a ticket from record r after an occurrence. It panics if the status of the ticket
// does not allow the occurrence.
func (t *ticket) move(r *messages.Ticket, what occurrence, now time.Time) move {
	next := after(r, what, now, t.k.record.RequestTimeout)
	if next == nil {
		panic("matchmaker: an occurrence that cannot be in status " + r.Status.String())
	}
	return move{t, next, transitions[what].own}
}

// moves returns the moves of all tickets of a match. what returns the occurrence for a ticket. records has,
// for each ticket, the record before the move.
func (p *proposal) moves(records []*messages.Ticket, now time.Time, what func(*ticket) occurrence) []move {
	all := make([]move, len(p.tickets))
	for i, t := range p.tickets {
		all[i] = t.move(records[i], what(t), now)
	}
	return all
}

func (p *proposal) records() []*messages.Ticket {
	all := make([]*messages.Ticket, len(p.tickets))
	for i, t := range p.tickets {
		all[i] = t.record
	}
	return all
}

// always returns a function for moves that returns the same occurrence for all tickets.
func always(what occurrence) func(*ticket) occurrence {
	return func(*ticket) occurrence { return what }
}

func recordsOf(moves []move) []*messages.Ticket {
	all := make([]*messages.Ticket, len(moves))
	for i, m := range moves {
		all[i] = m.next
	}
	return all
}

// change is a transaction that changes tickets.
type change struct {
	moves  []move
	match  *proposal       // nil if the tickets are in no match
	record *messages.Match // record of the match, with all answers so far
	held   bool            // the match continues with record; otherwise the match ends
	events []messages.Event
}

// apply returns the entry of a change. Events about single tickets follow ch.events.
func (m *Manager) apply(c *stage.Context, ch change) ledger.Entry {
	now, p := c.Now(), ch.match
	m.retention.Forget(now, 0)
	e := ledger.Entry{Events: ch.events}
	for _, mv := range ch.moves {
		e.Changes = append(e.Changes, store.Put(store.Ticket, string(mv.next.ID), mv.next))
		switch {
		case !mv.own:
		case mv.next.Status == messages.TicketSearching:
			e.Events = append(e.Events, searchingEvent(mv.t.k, mv.next, now))
		default:
			e.Events = append(e.Events, endEvent(mv.t.k, mv.next, ch.record, now))
		}
	}
	switch {
	case ch.held:
		e.Changes = append(e.Changes, store.Put(store.Match, string(ch.record.ID), ch.record))
	case p != nil:
		e.Changes = append(e.Changes, store.Delete(store.Match, string(p.record.ID)))
	}
	e.Apply = func() {
		for i, mv := range ch.moves {
			m.retention.Resize(&mv.t.kept, len(e.Changes[i].Value))
		}
		if ch.held {
			p.record = ch.record
			for _, mv := range ch.moves {
				mv.t.record = mv.next
			}
			m.hold(c, p)
			return
		}
		if p != nil {
			p.deadline.clear()
			delete(m.proposals, p.record.ID)
		}
		m.unmatch(c, ch.moves)
	}
	return e
}

// unmatch applies moves after which the tickets are in no match: they have ended, or wait again.
func (m *Manager) unmatch(c *stage.Context, moves []move) {
	var returned []*ticket
	for _, mv := range moves {
		t := mv.t
		inPool, inMatch := t.waits() && !t.proposing, t.proposal != nil
		t.record, t.proposal = mv.next, nil
		switch {
		case t.record.Status.Final():
			m.finish(t, inPool)
		case inMatch:
			m.wait(c, t)
			returned = append(returned, t)
		}
	}
	for _, mv := range moves { // after the loop above has freed all players
		if mv.next.Status.Final() {
			m.backfillEnded(c, mv.t)
		}
	}
	for _, t := range returned {
		m.recheck(c, t)
	}
}

// finish removes an ended ticket from its configuration and from its players, and begins its retention.
func (m *Manager) finish(t *ticket, inPool bool) {
	t.timeout.clear()
	if inPool && t.k.matcher != nil {
		t.k.matcher.Tell(removeTicket{t.id()})
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
	m.retention.End(&t.kept, t.record.Ended)
}
