package suite

import (
	"errors"
	"testing"
	"time"
)

// A stall is told, what happens once is not, and no fault of another kind is measured away.
func TestTheVerdictOnAHostileScript(t *testing.T) {
	of := func(p99 ...time.Duration) (tries []rowResult) {
		for _, d := range p99 {
			tries = append(tries, rowResult{healthy: true, ended: time.Second, place: "way-1.js:5", p99: d, without: time.Millisecond})
		}
		return tries
	}
	const ms = time.Millisecond
	unhealthy := of(ms, 3*ms)
	unhealthy[1].healthy = false
	failed := of(ms)
	failed[0].err = errors.New("no answer")
	stuck := of(3*ms, 3*ms, 3*ms)
	for i := range stuck {
		stuck[i].Want = "stuck"
	}
	left := func(p99 ...time.Duration) []rowResult {
		tries := of(p99...)
		for i := range tries {
			tries[i].Want, tries[i].p99, tries[i].left = "stuck", ms, p99[i]
		}
		return tries
	}
	for _, c := range []struct {
		name  string
		tries []rowResult
		fails bool
	}{
		{"good", of(ms), false},
		{"no player can tell", of(2 * ms), false},
		{"a stall each time", of(40*ms, 30*ms, 50*ms), true},
		{"a stall two times", of(40*ms, 30*ms, ms), true},
		{"once", of(40*ms, ms, ms), false},
		{"just over", of(3*ms, 3*ms, 3*ms), true},
		{"a thread is left behind", stuck, false},
		{"what is left behind is felt", left(3*ms, 3*ms, 3*ms), true},
		{"what is left behind was felt once", left(3*ms, ms, ms), false},
		{"the host is not healthy", unhealthy, true},
		{"it could not be measured", failed, true},
	} {
		if got := verdictOf(c.tries, 2*time.Second, 2*time.Second).faults(2*time.Second, 2*time.Second); len(got) > 0 != c.fails {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
