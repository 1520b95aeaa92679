package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/messages"
)

// liveSessions returns the game sessions of a fleet that have not ended, oldest first, and
// maybe some that have; Published.Shared tells them apart. A location is only checked: the
// list is that of all locations. It costs the registry the same however long it is, and
// must not be changed.
func (gs *games) liveSessions(q messages.ActiveGameSessionQuery) ([]*gamesession.Published, error) {
	f, err := gs.catalog.Resolve(q.FleetID, q.AliasID)
	if err != nil {
		return nil, err
	}
	if q.Location != "" && !slices.Contains(f.Locations, q.Location) {
		return nil, notOf(f, q.Location)
	}
	list := gs.fleetOf(f.ID).shown.list
	return list[:len(list):len(list)], nil
}

// shown are the durable game sessions of a fleet, for readers in other goroutines. The
// list is only ever appended to, or replaced by one without those that have ended.
type shown struct {
	list    []*gamesession.Published
	entries []*entry // of list, one for each
	ended   int      // entries in phaseOver
}

// shownSlack is how many ended ones a list may always hold.
const shownSlack = 64

func (s *shown) add(e *entry) {
	if e.phase != phaseOver {
		s.list = append(s.list, e.published.Reader())
		s.entries = append(s.entries, e)
	}
}

// over counts one that has ended, and makes a new list when half of it has. It goes by
// the phase alone: a game session shows that it is TERMINATED before the registry learns of
// it here, and one that were left out for that would be counted once more.
func (s *shown) over(e *entry) {
	if e.storage != stored {
		return // it was never added
	}
	if s.ended++; s.ended <= shownSlack+len(s.list)/2 {
		return
	}
	left := max(0, len(s.list)-s.ended)
	list, entries := make([]*gamesession.Published, 0, left+shownSlack), make([]*entry, 0, left+shownSlack)
	for _, e := range s.entries {
		if e.phase != phaseOver {
			list, entries = append(list, e.published.Reader()), append(entries, e)
		}
	}
	s.list, s.entries, s.ended = list, entries, 0
}
