package match

import (
	"slices"
	"time"
)

// Limits of the estimation of wait times.
const (
	recentTickets = 200              // number of matched tickets that are remembered
	recentFor     = 10 * time.Minute // maximum age of a wait time that is used
	recentLeast   = 10               // minimum number of wait times for an estimate
)

// Recent records the wait times of the last matched tickets. The zero value is ready for use. It is not safe
// for concurrent use.
type Recent struct {
	waits []matched
	next  int
}

type matched struct {
	at   time.Time
	wait time.Duration
}

// Add records the wait time of a ticket that was matched at time at. Callers omit backfill tickets.
func (r *Recent) Add(at time.Time, wait time.Duration) {
	if len(r.waits) < recentTickets {
		r.waits = append(r.waits, matched{at, wait})
		return
	}
	r.waits[r.next] = matched{at, wait}
	r.next = (r.next + 1) % recentTickets
}

// Estimate estimates how much longer a ticket of the given age will wait. It uses the median of the recent
// wait times that are at least age. It returns false if there are too few.
func (r *Recent) Estimate(now time.Time, age time.Duration) (time.Duration, bool) {
	var all [recentTickets]time.Duration
	waits := all[:0]
	for _, m := range r.waits {
		if m.wait >= age && now.Sub(m.at) <= recentFor {
			waits = append(waits, m.wait)
		}
	}
	if len(waits) < recentLeast {
		return 0, false
	}
	slices.Sort(waits)
	return waits[len(waits)/2] - age, true
}
