package placement

import (
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// The times in an event must be those that DescribeGameSessionPlacement shows.
func TestTimesOfEventsAreThoseThatAreShown(t *testing.T) {
	e := eventOf(&messages.Queue{}, &messages.Placement{Status: messages.PlacementTimedOut, Started: time.UnixMicro(1_000_500), Ended: time.UnixMicro(2_999_499)}, "")
	for _, want := range []string{`"startTime":"1970-01-01T00:00:01.001Z"`, `"endTime":"1970-01-01T00:00:02.999Z"`} {
		if !strings.Contains(string(e.Detail), want) {
			t.Errorf("no %s in %s", want, e.Detail)
		}
	}
}
