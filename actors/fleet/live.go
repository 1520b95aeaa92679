package fleet

import (
	"troupe/actors/gamesession"
)

// shown lists the durable game sessions of a fleet, for readers in other goroutines. The list
// is only appended to, or replaced by one without the ended game sessions.
type shown struct {
	list    []*gamesession.Published
	entries []*entry // of list, one for each
	ended   int      // entries in phaseOver
}

// shownSlack is the number of ended game sessions up to which a list is not replaced.
const shownSlack = 64

func (s *shown) add(e *entry) {
	if e.phase != phaseOver {
		s.list = append(s.list, e.published.Reader())
		s.entries = append(s.entries, e)
	}
}

// over counts a game session that has ended, and replaces the list when half of it has ended. It
// looks at the phase, not at the published status, which is TERMINATED earlier: a game session
// that is left out because of its status would be counted as ended again later.
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
