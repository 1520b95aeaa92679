package fleet

import (
	"slices"

	"troupe/messages"
)

// timelinesMax bounds the game sessions whose time line is kept after their end.
const timelinesMax = 200

// timelines are the time lines of the game sessions that have ended last, for operators. They are in memory only.
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
