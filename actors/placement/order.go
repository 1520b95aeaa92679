package placement

import (
	"cmp"
	"math"
	"slices"
	"time"

	"troupe/messages"
)

// Ranking orders candidates for one request. It is created by NewRanking. A Ranking is immutable, and the results of
// its methods depend only on their arguments.
type Ranking struct {
	latencies map[string]measured // nil if the request contains no latencies
	override  []string
	only      bool // use only the locations in override, in all passes
}

// NewRanking prepares the order of candidates for a request.
func NewRanking(r *messages.StartPlacement) *Ranking {
	k := &Ranking{override: r.LocationOrder, only: r.FallbackNone}
	if len(r.Latencies) > 0 {
		k.latencies = summarize(r.Latencies)
	}
	return k
}

// Order returns the candidates that a pass may try at the time t after the placement's start, best first
// (service-api.md 3.2, 3.3). The first pass uses only the locations in the request, if there are any. Order ignores
// Room and the order of the candidates. It returns each pair of fleet and location only once, with the lowest
// destination.
func (k *Ranking) Order(q *messages.Queue, t time.Duration, first bool, candidates []messages.Candidate) []messages.Candidate {
	most, _, capped := latencyCap(q.Policies, t)
	alone := len(k.override) > 0 && (first || k.only)
	eligible := make([]messages.Candidate, 0, len(candidates))
	for _, c := range candidates {
		switch {
		case q.AllowedLocations != nil && !slices.Contains(q.AllowedLocations, c.Location),
			alone && !slices.Contains(k.override, c.Location),
			capped && k.latencies[c.Location].most > float64(most): // an equal latency is allowed; an unknown latency counts as 0 (D-227)
		default:
			eligible = append(eligible, c)
		}
	}
	order := keys(q, len(k.latencies) > 0)
	slices.SortFunc(eligible, func(a, b messages.Candidate) int {
		for _, key := range order {
			if d := k.compare(q, key, a, b); d != 0 {
				return d
			}
		}
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.FleetID, b.FleetID))
	})
	return distinct(eligible)
}

func keys(q *messages.Queue, latencies bool) []messages.Priority {
	all := []messages.Priority{messages.PriorityLatency, messages.PriorityCost, messages.PriorityDestination, messages.PriorityLocation}
	switch {
	case q.HasPriority:
		order := slices.Clone(q.PriorityOrder)
		for _, key := range all {
			if !slices.Contains(order, key) {
				order = append(order, key)
			}
		}
		return order
	case latencies:
		return all
	}
	return all[2:] // without latencies, the cost is ignored (D-223)
}

func (k *Ranking) compare(q *messages.Queue, key messages.Priority, a, b messages.Candidate) int {
	switch key {
	case messages.PriorityLatency:
		return cmp.Compare(k.mean(a.Location), k.mean(b.Location))
	case messages.PriorityCost:
		return cmp.Compare(a.Cost, b.Cost)
	case messages.PriorityDestination:
		return cmp.Compare(a.Destination, b.Destination)
	case messages.PriorityLocation:
		return cmp.Or(cmp.Compare(k.rank(q, a.Location), k.rank(q, b.Location)), cmp.Compare(a.Location, b.Location))
	}
	return 0
}

// mean returns the mean latency of a location. It is infinite if nobody reported a latency.
func (k *Ranking) mean(location string) float64 {
	if l, reported := k.latencies[location]; reported {
		return l.mean
	}
	return math.Inf(1)
}

// rank returns the position of a location in the override followed by the queue's order. All locations that are in
// neither share the last rank.
func (k *Ranking) rank(q *messages.Queue, location string) int {
	if i := slices.Index(k.override, location); i >= 0 {
		return i
	}
	if i := slices.Index(q.LocationOrder, location); i >= 0 {
		return len(k.override) + i
	}
	return len(k.override) + len(q.LocationOrder)
}

// distinct keeps only one candidate for each pair of fleet and location: the one with the lowest destination. It does
// not reorder the candidates.
func distinct(sorted []messages.Candidate) []messages.Candidate {
	lowest := make(map[destination]int, len(sorted))
	for _, c := range sorted {
		if i, seen := lowest[destinationOf(c)]; !seen || c.Destination < i {
			lowest[destinationOf(c)] = c.Destination
		}
	}
	return slices.DeleteFunc(sorted, func(c messages.Candidate) bool {
		i, left := lowest[destinationOf(c)]
		if !left || i != c.Destination {
			return true
		}
		delete(lowest, destinationOf(c)) // so that another identical candidate is dropped
		return false
	})
}

// destination is a place at which a game session may run: a fleet and one of its locations.
type destination struct {
	fleet    messages.FleetID
	location string
}

func destinationOf(c messages.Candidate) destination { return destination{c.FleetID, c.Location} }
