package sim

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// reportsMax is the number of failing seeds that are reported completely. After badSeedsMax failing seeds, a
// test stops.
const (
	reportsMax  = 3
	badSeedsMax = 30
)

// seedsUsual is the number of seeds that is sufficient for all events that tally.check requires.
const seedsUsual = 500

// tally summarizes all runs of a test.
type tally struct {
	mu    sync.Mutex
	next  uint64
	bad   int
	runs  int
	seen  map[string]int
	kinds map[string]*kindTally // by kind of plan
}

// kindTally summarizes the plans of one kind.
type kindTally struct {
	runs, failed int
	broken       map[string]int // failed runs by violated invariant
}

// Each seed is an independent run; see the package comment.
// RL-117, RL-124.
func TestSeeds(t *testing.T) {
	first, seeds := *firstFlag, uint64(*seedsFlag)
	if *seedFlag != 0 {
		first, seeds = *seedFlag, 1
	} else if raceOn && seeds == seedsUsual {
		seeds /= 4 // without the race detector, all seeds are run
	}
	all := &tally{next: first, seen: make(map[string]int), kinds: make(map[string]*kindTally)}
	t.Run("runs", func(t *testing.T) {
		for w := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for seed, ok := all.take(first + seeds); ok; seed, ok = all.take(first + seeds) {
					r := simulate(t, newPlan(seed))
					switch bad := all.add(r); {
					case bad > reportsMax:
						t.Errorf("seed %d: %s", seed, r.failures[0])
					case bad > 0:
						t.Errorf("%s", r.report())
					}
				}
			})
		}
	})
	t.Logf("%d runs have seen %v", all.runs, all.seen)
	for _, kind := range slices.Sorted(maps.Keys(all.kinds)) {
		k := all.kinds[kind]
		t.Logf("%-36s %6d runs, %d failed %v", kind, k.runs, k.failed, k.broken)
	}
	if all.runs >= seedsUsual {
		all.check(t)
	}
}

// take returns the next seed below end. ok is false if there is none, or after too many failures.
func (a *tally) take(end uint64) (seed uint64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == end || a.bad >= badSeedsMax {
		return 0, false
	}
	a.next++
	return a.next - 1, true
}

// add adds a run. It returns the number of failed runs so far if this one has failed, otherwise 0.
func (a *tally) add(r *run) (bad int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs++
	for what, n := range r.seen {
		a.seen[what] += n
	}
	failed := len(r.failures) > 0
	for _, kind := range r.plan.kinds() {
		k := a.kinds[kind]
		if k == nil {
			k = &kindTally{broken: make(map[string]int)}
			a.kinds[kind] = k
		}
		k.runs++
		if failed {
			k.failed++
			for what := range r.broken() {
				k.broken[what]++
			}
		}
	}
	if !failed {
		return 0
	}
	a.bad++
	return a.bad
}

// broken returns the invariants that a run has violated.
func (r *run) broken() map[string]bool {
	all := make(map[string]bool)
	for _, f := range r.failures {
		all[cmp.Or(invariant.FindString(f), "other")] = true
	}
	return all
}

var invariant = regexp.MustCompile(`RL-\d+`)

// check checks that the runs contained all relevant events. Without faults and lost players they would prove
// nothing.
func (a *tally) check(t *testing.T) {
	must := []string{"routed", "refused", "gate says no", "detached", "reconnected", "window over", "comes in anew",
		"begins with what it had", "dead login refused", "gives up", "taken over", "closed for its numbers", "too slow for pings", "gap", "out for want of room",
		"moved", "fast", "datagram", "out at once", "refused in strict mode", "fulfilled", "reserve", "reserve refused", "terminate", "store failed", "restart", "death", "late login", "taken over by itself"}
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
