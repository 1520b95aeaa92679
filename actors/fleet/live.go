package fleet

// shown lists a fleet's durable game sessions for other goroutines. The list is only appended to or replaced as a
// whole.
type shown struct {
	list  []*entry
	ended int // number of game sessions in list that are in phaseOver
}

// shownSlack is the number of ended game sessions up to which a list is not replaced.
const shownSlack = 64

func (s *shown) add(e *entry) {
	if e.phase != phaseOver {
		s.list = append(s.list, e)
	}
}

// over counts a game session that has ended. When half of the list has ended, it replaces the list by one without ended
// game sessions. It uses the phase, not the published status. The status becomes TERMINATED earlier than the phase, so
// a game session left out by its status would later be counted as ended although it is no longer in the list.
func (s *shown) over(e *entry) {
	if e.storage != stored {
		return // it was never added to the list
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
