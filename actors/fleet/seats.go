package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// onSeatsMade answers with new player sessions once they are durable. Seats that cannot
// be stored are free again.
func (r *Registry) onSeatsMade(c *stage.Context, m gamesession.SeatsMade) {
	e := r.known(m.Session)
	if e == nil {
		m.Reply(nil, notFound(m.Session))
		return
	}
	changes := make([]store.Change, len(m.Seats))
	ids := make([]messages.PlayerSessionID, len(m.Seats))
	for i, s := range m.Seats {
		changes[i], ids[i] = storedSeat(s), s.ID
		r.players.set(s.ID, e)
	}
	e.players = append(e.players, ids...)
	undo := func() {
		r.forgetSeats(e, ids)
		if e.ref != nil {
			e.ref.Tell(gamesession.FreeSeats{IDs: ids})
		}
	}
	n := r.seatNews(c.Now(), e, m.Seats...)
	r.commit(c, undo, func(err error) {
		if err != nil {
			m.Reply(nil, err)
			return
		}
		m.Reply(m.Seats, nil)
		r.leave(n)
	}, n.with(changes...)...)
}

// onSeatChanged stores a player session that has changed by itself.
func (r *Registry) onSeatChanged(c *stage.Context, m gamesession.SeatChanged) {
	if e := r.players.get(m.Seat.ID); e != nil {
		e.unsaved.seat(m.Seat.ID, m.Seat)
		e.unsaved.news = append(e.unsaved.news, r.seatNews(c.Now(), e, m.Seat)...)
		r.save(c, e)
	}
}

func (r *Registry) onSeatsForgotten(c *stage.Context, m gamesession.SeatsForgotten) {
	e := r.sessions[m.Session]
	if e == nil {
		return
	}
	r.forgetSeats(e, m.IDs)
	for _, id := range m.IDs {
		e.unsaved.seat(id, nil)
	}
	r.save(c, e)
}

func (r *Registry) forgetSeats(e *entry, ids []messages.PlayerSessionID) {
	gone := make(map[messages.PlayerSessionID]bool, len(ids))
	for _, id := range ids {
		r.players.remove(id)
		delete(e.open, id)
		gone[id] = true
	}
	e.players = slices.DeleteFunc(e.players, func(id messages.PlayerSessionID) bool { return gone[id] })
}
