package fleet

import (
	"slices"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/search"
)

// onFind replies from another goroutine, because it may have to read many game sessions.
func (gs *games) onFind(m stage.Request[messages.FindGameSessions, messages.FoundGameSessions]) {
	q := m.Request
	gs.forgetEnded()
	all, err := gs.listed(&q)
	if err != nil {
		m.Reply(messages.FoundGameSessions{}, err)
		return
	}
	if q.Open && gs.drain.on && gs.o.Directory != nil { // cluster.md 6.4
		all = nil
	}
	gs.work.Go(func() {
		m.Reply(search.Find(&q, func(yield func(*messages.GameSession, int) bool) {
			for _, e := range all {
				if !yield(e.published.Shown()) {
					return
				}
			}
		}))
	})
}

// listed returns the game sessions of the fleets that a query names. The result may contain game sessions with another
// status or location; search.Find filters them.
func (gs *games) listed(q *messages.FindGameSessions) (all []*entry, err error) {
	var of *fleetGames
	if q.FleetID != "" || q.AliasID != "" {
		f, err := gs.catalog.Resolve(q.FleetID, q.AliasID)
		if err != nil {
			return nil, err
		}
		if q.Location != "" && !slices.Contains(f.Locations, q.Location) {
			return nil, notOf(f, q.Location)
		}
		of = gs.fleetOf(f.ID)
	} else if q.Location != "" && !slices.ContainsFunc(gs.catalog.Fleets(), func(f *messages.Fleet) bool { return slices.Contains(f.Locations, q.Location) }) {
		return nil, messages.Errorf(messages.NotFound, "no fleet has the location %s", q.Location)
	}
	switch {
	case q.Status == messages.GameSessionActive && of != nil:
		return of.shown.list[:len(of.shown.list):len(of.shown.list)], nil
	case q.Status == messages.GameSessionActive:
		for _, f := range gs.fleets {
			all = append(all, f.shown.list...)
		}
		return all, nil
	}
	for _, e := range gs.order {
		if e.storage == stored && (e.fleet == of || of == nil && gs.catalog.Fleet(e.fleet.id) != nil) {
			all = append(all, e)
		}
	}
	return all, nil
}
