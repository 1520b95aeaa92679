package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// reading copies the views that the actor has selected. It runs in another goroutine, because it may
// copy many.
type reading[T any] func() []T

// answer runs a reading in a goroutine of its own and replies with its result.
func answer[T any](gs *games, read reading[T], err error, reply func([]T, error)) {
	if err != nil {
		reply(nil, err)
		return
	}
	gs.work.Go(func() { reply(read(), nil) })
}

// these returns a reading whose result is known.
func these[T any](all ...T) reading[T] { return func() []T { return all } }

// playerSessions selects views by exactly one selector (service-api.md 2.7).
func (gs *games) playerSessions(q messages.PlayerSessionQuery) (reading[*messages.PlayerSession], error) {
	switch {
	case q.PlayerSessionID != "":
		if e := gs.players.get(q.PlayerSessionID); e != nil {
			found := e.published.Players(func(id messages.PlayerSessionID, _ messages.PlayerID, _ messages.PlayerSessionStatus) bool {
				return id == q.PlayerSessionID
			})
			if len(found) > 0 {
				return these(found...), nil
			}
		}
		return nil, messages.Errorf(messages.NotFound, "player session %s is not known here", q.PlayerSessionID)
	case q.GameSessionID != "":
		e := gs.known(q.GameSessionID)
		if e == nil {
			return nil, notFound(q.GameSessionID)
		}
		return func() []*messages.PlayerSession {
			return e.published.Players(func(_ messages.PlayerSessionID, _ messages.PlayerID, s messages.PlayerSessionStatus) bool {
				return q.Status == 0 || q.Status == s
			})
		}, nil
	default:
		want := func(_ messages.PlayerSessionID, player messages.PlayerID, _ messages.PlayerSessionStatus) bool {
			return player == q.PlayerID
		}
		if q.ShortID != "" {
			want = func(id messages.PlayerSessionID, _ messages.PlayerID, _ messages.PlayerSessionStatus) bool {
				return id.Short() == q.ShortID
			}
		}
		all := make([]*gamesession.Published, 0, len(gs.order))
		for _, e := range gs.order {
			if e.storage != forgotten {
				all = append(all, e.published.Reader())
			}
		}
		return func() (found []*messages.PlayerSession) {
			for _, p := range all {
				found = append(found, p.Players(want)...)
			}
			slices.SortStableFunc(found, func(a, b *messages.PlayerSession) int { return a.Created.Compare(b.Created) })
			return found
		}, nil
	}
}

func (gs *games) depths() messages.Depths {
	d := messages.Depths{Registry: gs.context.Self().Depth()}
	for ref := range gs.refs {
		n := ref.Depth()
		d.GameSessions += n
		d.Busiest = max(d.Busiest, n)
	}
	return d
}

// onInspect has a running game session answer. One that has ended has no state but its records and, for a while, its time line.
func (gs *games) onInspect(q messages.InspectGameSession, a stage.Ask) {
	e := gs.known(q.ID)
	switch {
	case e == nil:
		a.Reply(nil, notFound(q.ID))
	case e.ref == nil || e.phase == phaseOver:
		stage.As(q, a).Reply(&messages.GameSessionState{Moments: gs.timelines.of[e.id]}, nil)
	default:
		e.ref.Tell(a)
	}
}

// onKick has a running game session remove a player.
func (gs *games) onKick(q messages.KickPlayer, a stage.Ask) {
	e := gs.known(q.GameSession)
	switch {
	case e == nil:
		a.Reply(nil, notFound(q.GameSession))
	case e.ref == nil:
		a.Reply(nil, q.DeadLetterError())
	default:
		e.ref.Tell(a)
	}
}
