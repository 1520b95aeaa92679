package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/messages"
)

// LiveSessions asks for the game sessions of a fleet that have not ended, oldest first,
// and maybe some that have: Published.Shared says. It is asked by
// Request[LiveSessions, []*gamesession.Published], and costs the registry the same
// however many there are. The list must not be changed. One of the ids is set.
type LiveSessions struct {
	FleetID messages.FleetID
	AliasID messages.AliasID
	// Location is checked only: the list is that of all locations.
	Location string
}

func (r *Registry) liveSessions(q LiveSessions) ([]*gamesession.Published, error) {
	f, err := r.resolve(q.FleetID, q.AliasID)
	if err != nil {
		return nil, err
	}
	if q.Location != "" && !slices.Contains(f.record.Locations, q.Location) {
		return nil, messages.Errorf(messages.InvalidRequest, "location %s is not one of fleet %s", q.Location, f.record.ID)
	}
	return f.shown.list[:len(f.shown.list):len(f.shown.list)], nil
}

// shown are the durable game sessions of a fleet, for readers in other goroutines. The
// list is only ever appended to, or replaced by one without those that have ended.
type shown struct {
	list  []*gamesession.Published
	ended int // of them, about
}

// shownSlack is how many ended ones a list may always hold.
const shownSlack = 64

func (s *shown) add(e *entry) {
	if !e.over {
		s.list = append(s.list, e.published)
	}
}

// over counts one that has ended, and makes a new list when half of it has.
func (s *shown) over(e *entry) {
	if !e.stored {
		return
	}
	if s.ended++; s.ended <= shownSlack+len(s.list)/2 {
		return
	}
	list := make([]*gamesession.Published, 0, len(s.list)-s.ended+shownSlack)
	for _, p := range s.list {
		if g, _, _ := p.Shared(); g.Status < messages.GameSessionTerminated {
			list = append(list, p)
		}
	}
	s.list, s.ended = list, 0
}
