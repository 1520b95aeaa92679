package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// asksMax limits the game's backfill requests that are queued for the next AwaitSeats. When the limit is reached, the
// oldest request is dropped.
const asksMax = 32

// seatNews holds the data that AwaitSeats reports.
type seatNews struct {
	version uint64 // incremented at each change
	asks    []messages.AskBackfill
	waiting func(messages.SeatsReport, error) // answers the pending AwaitSeats; nil if none is pending
	known   bool                              // matchmaking has sent an AwaitSeats
}

func (gs *games) onAwaitSeats(m stage.Request[messages.AwaitSeats, messages.SeatsReport]) {
	e := gs.known(m.Request.ID)
	if e == nil {
		m.Reply(messages.SeatsReport{}, notFound(m.Request.ID))
		return
	}
	n := &e.seats
	n.report(e)
	n.waiting, n.known, n.version = m.Reply, true, max(n.version, 1)
	if n.version != m.Request.Since || len(n.asks) > 0 || e.phase == phaseOver {
		n.report(e)
	}
}

func (n *seatNews) report(e *entry) {
	if n.waiting != nil {
		n.waiting(messages.SeatsReport{Version: n.version, Seats: e.published.Seats(), Asks: n.asks}, nil)
		n.waiting, n.asks = nil, nil
	}
}

// changed reports that the seats of a game session may have changed or that the game session is over.
func (n *seatNews) changed(e *entry) {
	n.version++
	n.report(e)
}

// onBackfillAsked queues a game's backfill request for matchmaking, which gets it by AwaitSeats.
func (gs *games) onBackfillAsked(m gamesession.BackfillAsked) {
	e := gs.sessions[m.Session]
	if e == nil || e.ref == nil || e.phase == phaseOver {
		return
	}
	n := &e.seats
	if !n.known && e.published.Session().MatchmakerData == "" {
		if !m.Stop {
			e.ref.Tell(gamesession.Updated{Reason: messages.BackfillFailed, Ticket: m.Ticket})
		}
		return
	}
	if len(n.asks) == asksMax {
		n.asks = slices.Delete(n.asks, 0, 1)
	}
	n.asks = append(n.asks, m.AskBackfill)
	n.report(e)
}

// onFill changes a game session on behalf of matchmaking. It applies the change once the change is durable.
func (gs *games) onFill(m stage.Request[messages.FillGameSession, *messages.FilledGameSession]) {
	q := m.Request
	e := gs.known(q.Session)
	reply := func(err error) {
		if err != nil {
			m.Reply(nil, err)
			return
		}
		m.Reply(e.filled(), nil)
	}
	switch {
	case e == nil:
		m.Reply(nil, notFound(q.Session))
	case e.ref == nil:
		reply(messages.Errorf(messages.InvalidGameSessionStatus, "game session %s has ended", q.Session))
	case len(q.Players) > 0 && gs.drain.on:
		reply(unavailable())
	case len(q.Players) > 0:
		messages.Send(e.ref, gamesession.Fill{FillGameSession: q}, func(_ []*messages.PlayerSession, err error) { reply(err) })
	case q.Data == "":
		e.update(&q)
		reply(nil)
	default:
		gs.ledger.Do(ledger.Transaction{Key: e.key(), WaitingMax: editsMax, Reply: reply, Decide: func() (ledger.Entry, error) {
			change, err := e.matchChange(&q)
			return ledger.Entry{Changes: []store.Change{change}, Apply: func() { e.update(&q) }}, err
		}})
	}
}

func (e *entry) matchChange(q *messages.FillGameSession) (store.Change, error) {
	g := e.published.Session()
	if g.Status != messages.GameSessionActive {
		return store.Change{}, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s, not ACTIVE", g.ID, g.Status)
	}
	g.MatchmakerData = q.Data
	return e.recordOf(g), nil
}

func (e *entry) update(q *messages.FillGameSession) {
	if q.Data != "" {
		e.published.Matched(q.Data)
	}
	if q.Reason != "" && e.ref != nil {
		e.ref.Tell(gamesession.Updated{Reason: q.Reason, Ticket: q.Ticket})
	}
}

// storeFill stores a match's new player sessions and matchmaker data in one commit. If the commit fails, the player
// sessions end.
func (gs *games) storeFill(m stage.Request[gamesession.PlayerSessionsCreated, []*messages.PlayerSession], ids []messages.PlayerSessionID) {
	created, ref := m.Request, (*stage.Ref)(nil)
	e := gs.known(created.Session)
	if e != nil {
		ref = e.ref
	}
	tell := func(refused bool) {
		if ref != nil {
			ref.Tell(gamesession.PlayerSessionsStored{IDs: ids, Refused: refused, Match: created.Fill.Match})
		}
	}
	reply := func(err error) {
		if err != nil {
			tell(true)
		}
		m.With(&created.Records)(err)
	}
	if e == nil {
		reply(notFound(created.Session))
		return
	}
	gs.ledger.Do(ledger.Transaction{Key: e.key(), WaitingMax: editsMax, Reply: reply, Decide: func() (ledger.Entry, error) {
		change, err := e.matchChange(created.Fill)
		if err != nil {
			return ledger.Entry{}, err
		}
		changes := []store.Change{change}
		for _, s := range created.Records {
			changes = append(changes, storedPlayerSession(s))
		}
		return ledger.Entry{
			Changes: changes, Events: gs.eventsOfPlayerSessions(e, created.Records...),
			Apply: func() {
				e.published.Matched(created.Fill.Data)
				gs.addPlayerSessions(e, created, ids)
				tell(false)
				e.update(created.Fill)
			},
		}, nil
	}})
}

// filled returns the game session and its player sessions that do not have a final status.
func (e *entry) filled() *messages.FilledGameSession {
	f := &messages.FilledGameSession{Session: e.published.Session()}
	for _, s := range e.published.Players(func(_ messages.PlayerSessionID, _ messages.PlayerID, status messages.PlayerSessionStatus) bool {
		return !status.Final()
	}) {
		f.Placed = append(f.Placed, messages.PlacedPlayer{PlayerID: s.PlayerID, PlayerSessionID: s.ID})
	}
	return f
}
