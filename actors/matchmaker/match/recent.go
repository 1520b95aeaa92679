package match

import (
	"slices"
	"time"
)

// Limits of the estimate of waits.
const (
	recentTickets = 200              // matched tickets that are remembered
	recentFor     = 10 * time.Minute // for this time
	recentLeast   = 10               // the fewest for an estimate
)

// Recent has the waits of the last matched tickets. The zero value is ready. Not safe for concurrent use.
type Recent struct {
	waits []matched
	next  int
}

type matched struct {
	at   time.Time
	wait time.Duration
}

// Add adds the wait of a ticket that was matched at a time. Callers leave out backfill tickets.
func (r *Recent) Add(at time.Time, wait time.Duration) {
	if len(r.waits) < recentTickets {
		r.waits = append(r.waits, matched{at, wait})
		return
	}
	r.waits[r.next] = matched{at, wait}
	r.next = (r.next + 1) % recentTickets
}

// Estimate estimates how much longer a ticket of an age will wait: the median of recent waits at least as long. False: too few.
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
