package play

import (
	"testing"
	"time"
)

// Tests how long a run waits after its bots have stopped sending.
func TestSettling(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		w           settling
		missing     uint64
		away        int
		interrupted bool
		want        time.Duration
	}{
		"all is there":                         {settling{bots: 2}, 0, 0, false, 0},
		"messages are lost":                    {settling{bots: 2}, 1, 0, false, stablePatience},
		"messages are lost, interrupted":       {settling{bots: 2}, 1, 0, true, stablePatience},
		"a bot may come back":                  {settling{bots: 2}, 1, 1, false, never},
		"the host may come back":               {settling{bots: 2}, 1, 2, false, never},
		"a bot is away, interrupted":           {settling{bots: 2}, 1, 1, true, stablePatience},
		"the host is gone, interrupted":        {settling{bots: 2}, 1, 2, true, 0},
		"all are in an outage, interrupted":    {settling{bots: 2, drop: true, outage: time.Minute}, 1, 2, true, time.Minute + stablePatience},
		"all are coming back, interrupted":     {settling{bots: 2, drop: true}, 0, 2, true, stablePatience},
		"one is in an outage, and it may last": {settling{bots: 2, drop: true, outage: time.Minute}, 0, 1, false, never},
	} {
		begun, got := time.Unix(1, 0), time.Duration(0)
		for got < never && !c.w.over(begun.Add(got), c.missing, c.away, c.interrupted) {
			got += time.Second
		}
		if c.want != 0 && c.want != never {
			c.want += time.Second // rounded up to the next poll
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	w := settling{bots: 1}
	for i := range uint64(10) { // as long as there is progress, the wait continues
		if w.over(time.Unix(int64(i), 0), 10-i, 0, true) {
			t.Errorf("over with %d missing", 10-i)
		}
	}
}
