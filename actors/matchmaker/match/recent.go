package match

import (
	"slices"
	"time"
)

// Limits of the estimate of waits.
const (
	recentTickets = 200              // so many matched tickets are remembered
	recentFor     = 10 * time.Minute // and for so long
	recentLeast   = 10               // fewer say nothing
)

// Recent is how long the last matched tickets have waited. The zero value is ready. Not safe for concurrent use.
type Recent struct {
	waits []matched
	next  int
}

type matched struct {
	at   time.Time
	wait time.Duration
}

// Add adds a ticket that was matched at a time. Backfill tickets do not count.
func (r *Recent) Add(at time.Time, wait time.Duration) {
	if len(r.waits) < recentTickets {
		r.waits = append(r.waits, matched{at, wait})
		return
	}
	r.waits[r.next] = matched{at, wait}
	r.next = (r.next + 1) % recentTickets
}

// Estimate estimates how long a ticket that has waited for an age will wait in addition: half of the recently matched tickets that
// had to wait so long were matched by then. It is false if too few were.
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

// EstimatedWait is Recent.Estimate of the tickets that passes of this pool have matched.
func (p *Pool) EstimatedWait(now time.Time, age time.Duration) (time.Duration, bool) {
	return p.recent.Estimate(now, age)
}
