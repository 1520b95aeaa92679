package fleet

import (
	"strconv"
	"testing"

	"troupe/messages"
)

func TestTimeLinesAreBounded(t *testing.T) {
	var lines timelines
	id := func(i int) messages.GameSessionID { return messages.GameSessionID(strconv.Itoa(i)) }
	for i := range 3 * timelinesMax {
		lines.keep(id(i), []messages.Moment{{Text: strconv.Itoa(i)}})
		lines.keep(id(i), []messages.Moment{{Text: strconv.Itoa(i)}})
	}
	if len(lines.of) != timelinesMax || len(lines.order) != timelinesMax {
		t.Errorf("%d and %d are kept", len(lines.of), len(lines.order))
	}
	for i := 2 * timelinesMax; i < 3*timelinesMax; i++ {
		if all := lines.of[id(i)]; len(all) != 1 || all[0].Text != strconv.Itoa(i) {
			t.Fatalf("%d: %v", i, all)
		}
	}
}
