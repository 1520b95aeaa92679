package sim

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// badSeedsMax is how many failing seeds are reported before a test gives up.
const badSeedsMax = 3

// seedsUsual is how many are enough to meet everything that tally.check asks for.
const seedsUsual = 500

// tally is what all runs of a test have seen together.
type tally struct {
	mu   sync.Mutex
	next uint64
	bad  int
	runs int
	seen map[string]int
}

// Every seed is a run of its own; see the package comment.
// RL-124.
func TestSeeds(t *testing.T) {
	first, seeds := *firstFlag, uint64(*seedsFlag)
	if *seedFlag != 0 {
		first, seeds = *seedFlag, 1
	} else if testing.Short() {
		seeds = min(seeds, 200)
	} else if raceOn && seeds == seedsUsual {
		seeds /= 4 // all are run without the race detector
	}
	all := &tally{next: first, seen: make(map[string]int)}
	t.Run("runs", func(t *testing.T) {
		for w := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for seed, ok := all.take(first + seeds); ok; seed, ok = all.take(first + seeds) {
					r := simulate(t, newPlan(seed))
					if all.add(r) {
						t.Errorf("%s", r.report())
					}
				}
			})
		}
	})
	t.Logf("%d runs have seen %v", all.runs, all.seen)
	if all.runs >= seedsUsual && *flavorFlag == "" {
		all.check(t)
	}
}

// take returns the next seed below end.
func (a *tally) take(end uint64) (seed uint64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == end || a.bad >= badSeedsMax {
		return 0, false
	}
	a.next++
	return a.next - 1, true
}

func (a *tally) add(r *run) (bad bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs++
	for what, n := range r.seen {
		a.seen[what] += n
	}
	if len(r.failures) > 0 {
		a.bad++
		return true
	}
	return false
}

// check demands that the runs have met what they are about: faults that never
// come, and players that are never lost, prove nothing.
func (a *tally) check(t *testing.T) {
	must := []string{"routed", "refused", "gate says no", "detached", "reconnected", "window over", "comes in anew",
		"begins with what it had", "dead login refused", "gives up", "taken over", "closed for its numbers", "too slow for pings", "gap", "out for want of room"}
	for do := burst + 1; do < actions; do++ {
		if do != endGame {
			must = append(must, actionNames[do])
		}
	}
	for _, what := range must {
		if a.seen[what] == 0 {
			t.Errorf("in %d runs there was not once: %s", a.runs, what)
		}
	}
}
