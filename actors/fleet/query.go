package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// onPlayerSessionQuery selects player sessions by exactly one selector (service-api.md 2.7). It replies from another
// goroutine, because it may have to copy many records.
func (gs *games) onPlayerSessionQuery(m stage.Request[messages.PlayerSessionQuery, []*messages.PlayerSession]) {
	gs.forgetEnded()
	q := m.Request
	var in []*gamesession.Published
	switch {
	case q.PlayerSessionID != "":
		if e := gs.players.get(q.PlayerSessionID); e != nil {
			in = append(in, e.published.Reader())
		}
	case q.GameSessionID != "":
		e := gs.known(q.GameSessionID)
		if e == nil {
			m.Reply(nil, notFound(q.GameSessionID))
			return
		}
		in = append(in, e.published.Reader())
	case q.PlayerID != "":
		for _, e := range gs.players.of(q.PlayerID) {
			in = append(in, e.published.Reader())
		}
	default: // by ShortID
		for _, e := range gs.order {
			if e.storage != forgotten {
				in = append(in, e.published.Reader())
			}
		}
	}
	want := func(id messages.PlayerSessionID, player messages.PlayerID, s messages.PlayerSessionStatus) bool {
		switch {
		case q.PlayerSessionID != "":
			return id == q.PlayerSessionID
		case q.GameSessionID != "":
			return q.Status == 0 || q.Status == s
		case q.ShortID != "":
			return id.Short() == q.ShortID
		}
		return player == q.PlayerID
	}
	gs.work.Go(func() {
		var found []*messages.PlayerSession
		for _, p := range in {
			found = append(found, p.Players(want)...)
		}
		if q.PlayerSessionID != "" && len(found) == 0 {
			m.Reply(nil, messages.Errorf(messages.NotFound, "player session %s is not known here", q.PlayerSessionID))
			return
		}
		slices.SortStableFunc(found, func(a, b *messages.PlayerSession) int { return a.Created.Compare(b.Created) })
		m.Reply(found, nil)
	})
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

// onInspect forwards the request to a running game session. For a game session that has ended, it returns only the
// timeline, if that is still kept.
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

// onKick forwards the request to remove a player to a running game session.
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
