package fleet

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// unsaved is what of a game session is to be stored, and nobody waits for: what it and its
// player sessions have become by themselves, and the events of that, which leave once it is
// durable. It goes to the store one part after the other, so that events keep their order;
// what the store refuses is tried again, as it is by then.
type unsaved struct {
	game  bool                                                 // the game session's own record
	seats map[messages.PlayerSessionID]*messages.PlayerSession // the last known; nil: forgotten
	news  news
	busy  bool // a part is on its way to the store, or will be tried again
}

// saved tells the actor that a part is durable, or why it is not.
type saved struct {
	e    *entry
	part unsaved
	err  error
}

type saveAgain struct{ e *entry }

// Undelivered implements stage.Undeliverable: the next start makes up for it.
func (saved) Undelivered() {}

const (
	// againMin is when a part that was refused is tried again, about: spread, because
	// there may be many.
	againMin = 2 * time.Second
	// newsMax is how many events of one game session may wait. During a long outage players
	// may come and go as they like; more than that, and the oldest are lost.
	newsMax = 4096
)

// seat adds a player session; nil if it is forgotten.
func (u *unsaved) seat(id messages.PlayerSessionID, s *messages.PlayerSession) {
	if u.seats == nil {
		u.seats = make(map[messages.PlayerSessionID]*messages.PlayerSession)
	}
	u.seats[id] = s
}

// changes are those that store a part.
func (u *unsaved) changes(e *entry) []store.Change {
	changes := make([]store.Change, 0, 1+len(u.seats)+len(u.news))
	if u.game {
		changes = append(changes, e.record())
	}
	for id, s := range u.seats {
		if s == nil {
			changes = append(changes, store.Delete(store.PlayerSession, string(id)))
		} else {
			changes = append(changes, storedSeat(s))
		}
	}
	return u.news.with(changes...)
}

// before puts a part that was refused before what has come since.
func (u *unsaved) before(old unsaved) (lost int) {
	u.game = u.game || old.game
	for id, s := range old.seats {
		if _, newer := u.seats[id]; !newer {
			u.seat(id, s)
		}
	}
	if len(old.news) == 0 {
		return 0
	}
	u.news = append(old.news, u.news...)
	slices.SortStableFunc(u.news, func(a, b messages.Event) int { return cmp.Compare(a.ID, b.ID) }) // ids are in order of time
	lost = max(0, len(u.news)-newsMax)
	u.news = u.news[lost:]
	return lost
}

// save stores what of a game session is unsaved, now or behind what is on its way.
func (r *Registry) save(c *stage.Context, e *entry) {
	u := &e.unsaved
	if u.busy || e.forgotten || !u.game && len(u.seats) == 0 && len(u.news) == 0 {
		return
	}
	part, self := *u, c.Self()
	e.unsaved = unsaved{busy: true}
	r.o.Store.Commit(part.changes(e), func(err error) {
		if err == nil {
			r.leave(part.news)
		} else {
			r.lost.Error().Err(err).Str("game_session_id", string(e.id)).Msg("not stored: it is tried again")
		}
		self.Tell(saved{e, part, err})
	})
}

func (r *Registry) onSaved(c *stage.Context, m saved) {
	if m.err == nil {
		m.e.unsaved.busy = false
		r.save(c, m.e)
		return
	}
	r.keepUnsaved(c, m.e, m.part)
	c.After(againMin+rand.N(againMin), saveAgain{m.e})
}

func (r *Registry) onSaveAgain(c *stage.Context, e *entry) {
	e.unsaved.busy = false
	r.save(c, e)
}

// saveLast tries what is unsaved once more as the registry stops: the store may work again.
func (r *Registry) saveLast() {
	for _, e := range r.order {
		part := e.unsaved
		if e.forgotten || !part.game && len(part.seats) == 0 && len(part.news) == 0 {
			continue
		}
		r.o.Store.Commit(part.changes(e), func(err error) {
			if err == nil {
				r.leave(part.news)
			}
		})
	}
}

// keepUnsaved takes note of what was refused, and is to be tried again.
func (r *Registry) keepUnsaved(c *stage.Context, e *entry, part unsaved) {
	if lost := e.unsaved.before(part); lost > 0 {
		c.Counters().Events.Add(counters.EventDropped, int64(lost))
		r.lost.Error().Str("game_session_id", string(e.id)).Int("events", lost).Msg("too many events wait for the store: the oldest are lost")
	}
}

// refusedNews has the actor tell of what was refused together with an answer.
type refusedNews struct {
	e *entry
	n news
}

// Undelivered implements stage.Undeliverable: the next start makes up for it.
func (refusedNews) Undelivered() {}

func (r *Registry) onRefusedNews(c *stage.Context, m refusedNews) {
	r.keepUnsaved(c, m.e, unsaved{game: true, news: m.n})
	r.save(c, m.e)
}
