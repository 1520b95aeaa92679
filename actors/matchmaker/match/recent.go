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

// recent is how long the last matched tickets have waited. Backfill tickets do not count.
type recent struct {
	waits []matched
	next  int
}

type matched struct {
	at   time.Time
	wait time.Duration
}

func (r *recent) add(at time.Time, wait time.Duration) {
	if len(r.waits) < recentTickets {
		r.waits = append(r.waits, matched{at, wait})
		return
	}
	r.waits[r.next] = matched{at, wait}
	r.next = (r.next + 1) % recentTickets
}

// EstimatedWait estimates how long a ticket that has waited for an age will wait in addition: half of the recently matched tickets that
// had to wait so long were matched by then. It is false if too few were.
func (p *Pool) EstimatedWait(now time.Time, age time.Duration) (time.Duration, bool) {
	var waits []time.Duration
	for _, m := range p.recent.waits {
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
