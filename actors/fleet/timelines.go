package fleet

import (
	"slices"

	"troupe/messages"
)

// timelinesMax limits the number of ended game sessions whose timeline is kept.
const timelinesMax = 200

// timelines holds the timelines of the game sessions that ended last, for operators. They are in memory only.
type timelines struct {
	of    map[messages.GameSessionID][]messages.Moment
	order []messages.GameSessionID // oldest first
}

func (t *timelines) keep(id messages.GameSessionID, all []messages.Moment) {
	if t.of == nil {
		t.of = make(map[messages.GameSessionID][]messages.Moment)
	}
	if _, known := t.of[id]; !known {
		if len(t.order) == timelinesMax {
			delete(t.of, t.order[0])
			t.order = slices.Delete(t.order, 0, 1)
		}
		t.order = append(t.order, id)
	}
	t.of[id] = all
}
