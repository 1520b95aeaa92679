package fleet

// shown lists a fleet's durable game sessions for other goroutines. It is appended to, or replaced by one without ended ones.
type shown struct {
	list  []*entry
	ended int // in phaseOver
}

// shownSlack is the number of ended game sessions up to which a list is not replaced.
const shownSlack = 64

func (s *shown) add(e *entry) {
	if e.phase != phaseOver {
		s.list = append(s.list, e)
	}
}

// over counts a game session that has ended, and replaces the list when half of it has ended. It looks at the phase, not at the
// published status, which is TERMINATED earlier: a game session left out because of that would be counted as ended again later.
func (s *shown) over(e *entry) {
	if e.storage != stored {
		return // it was never added
	}
	if s.ended++; s.ended <= shownSlack+len(s.list)/2 {
		return
	}
	list := make([]*entry, 0, max(0, len(s.list)-s.ended)+shownSlack)
	for _, e := range s.list {
		if e.phase != phaseOver {
			list = append(list, e)
		}
	}
	s.list, s.ended = list, 0
}
