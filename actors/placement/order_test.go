package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/messages"
)

// candidatesOf parses candidates from strings such as "W us-west-2 0.5": the fleet, its locations separated by commas,
// and its cost.
func candidatesOf(t testing.TB, destinations ...string) []messages.Candidate {
	t.Helper()
	var all []messages.Candidate
	for i, d := range destinations {
		var name, locations string
		var cost float64
		if n, err := fmt.Sscan(d, &name, &locations, &cost); n < 2 {
			t.Fatal(d, err)
		}
		for l := range strings.SplitSeq(locations, ",") {
			all = append(all, messages.Candidate{Destination: i, FleetID: messages.FleetID(name), Location: l, Cost: cost})
		}
	}
	return all
}

// latenciesOf parses latency reports such as "p1 us-east-1 100".
func latenciesOf(t testing.TB, reports ...string) (all []messages.PlayerLatency) {
	t.Helper()
	for _, r := range reports {
		var l messages.PlayerLatency
		if _, err := fmt.Sscan(r, &l.PlayerID, &l.Location, &l.Latency); err != nil {
			t.Fatal(r, err)
		}
		all = append(all, l)
	}
	return all
}

func shown(order []messages.Candidate) string {
	var s []string
	for _, c := range order {
		s = append(s, string(c.FleetID)+"/"+c.Location)
	}
	return strings.Join(s, " ")
}

func policy(ms int, d time.Duration) messages.LatencyPolicy {
	return messages.LatencyPolicy{Max: ms, Duration: d}
}

const (
	byLatency     = messages.PriorityLatency
	byCost        = messages.PriorityCost
	byDestination = messages.PriorityDestination
	byLocation    = messages.PriorityLocation
)

func prioritized(locations string, order ...messages.Priority) messages.Queue {
	q := messages.Queue{HasPriority: true, PriorityOrder: order}
	if locations != "" {
		q.LocationOrder = strings.Split(locations, ",")
	}
	return q
}

// pass is a range of passes: those at the whole seconds from "from" to "to".
type pass struct {
	from, to int // seconds; if to is 0, there is only the pass at from
	later    bool
	want     string
}

// The vectors of service-api.md 3.5, and one vector for every rule that they do not cover. API-47.
func TestVectorsOfTheOrder(t *testing.T) {
	tests := []struct {
		name         string
		queue        messages.Queue
		destinations []string
		latencies    []string
		override     []string
		none         bool
		passes       []pass
	}{
		{
			name: "V0 the example of the API page", queue: messages.Queue{Policies: []messages.LatencyPolicy{policy(130, 60*time.Second)}},
			destinations: []string{"W us-west-2", "E us-east-1", "X eu-west-1"},
			latencies:    []string{"player1 us-east-1 100", "player1 us-west-2 50", "player2 us-east-1 120", "player2 us-west-2 150"},
			passes: []pass{
				{from: 0, to: 59, want: "E/us-east-1 X/eu-west-1"},
				{from: 60, to: 119, want: "W/us-west-2 E/us-east-1 X/eu-west-1"},
			},
		},
		{
			name: "V1 no latencies, many locations, default order", queue: messages.Queue{},
			destinations: []string{"A us-west-2,ap-south-1,eu-central-1 0.50", "B us-east-1 0.10"},
			passes:       []pass{{want: "A/ap-south-1 A/eu-central-1 A/us-west-2 B/us-east-1"}},
		},
		{
			name: "V2 equal averages decided by cost", queue: messages.Queue{},
			destinations: []string{"A us-west-2,us-east-1 0.20", "B us-east-1 0.10"},
			latencies:    []string{"p1 us-east-1 40", "p1 us-west-2 80", "p2 us-east-1 60", "p2 us-west-2 20"},
			passes:       []pass{{want: "B/us-east-1 A/us-east-1 A/us-west-2"}},
		},
		{
			name: "V3 override for one pass, then all", queue: prioritized("eu-1,us-1,ap-1", byLocation),
			destinations: []string{"A us-1,ap-1", "B eu-1,sa-1,me-1"}, override: []string{"sa-1", "us-1"},
			passes: []pass{
				{want: "B/sa-1 A/us-1"},
				{from: 1, to: 3, later: true, want: "B/sa-1 A/us-1 B/eu-1 A/ap-1 B/me-1"},
			},
		},
		{
			name: "V3 override for ever", queue: prioritized("eu-1,us-1", byLocation),
			destinations: []string{"A us-1,ap-1", "B eu-1,sa-1"}, override: []string{"sa-1", "us-1"}, none: true,
			passes: []pass{{want: "B/sa-1 A/us-1"}, {from: 1, to: 9, later: true, want: "B/sa-1 A/us-1"}},
		},
		{
			name: "V3 override of locations that nothing has", queue: prioritized("eu-1", byLocation),
			destinations: []string{"A us-1", "B eu-1"}, override: []string{"zz-1"},
			passes: []pass{{want: ""}, {from: 1, later: true, want: "B/eu-1 A/us-1"}},
		},
		{
			name: "V4 the filter removes locations of the override", queue: func() messages.Queue {
				q := prioritized("eu-1,us-1", byLocation)
				q.AllowedLocations = []string{"us-1", "eu-1"}
				return q
			}(),
			destinations: []string{"A us-1,ap-1", "B eu-1,sa-1"}, override: []string{"sa-1", "us-1"},
			passes: []pass{{want: "A/us-1"}, {from: 1, later: true, want: "A/us-1 B/eu-1"}},
		},
		{
			name: "V4 the filter goes before latencies", queue: messages.Queue{AllowedLocations: []string{"eu-1"}},
			destinations: []string{"A us-1", "B eu-1"}, latencies: []string{"p us-1 1", "p eu-1 200"},
			passes: []pass{{want: "B/eu-1"}},
		},
		{
			name: "V5 policies stack by their caps, whatever their order", queue: messages.Queue{Policies: []messages.LatencyPolicy{
				policy(200, 20*time.Second), policy(50, 10*time.Second), policy(100, 5*time.Second),
			}},
			destinations: []string{"A a-1", "B b-1", "C c-1", "D d-1"},
			latencies:    []string{"p a-1 300", "p b-1 150", "p c-1 80", "p d-1 50"},
			passes: []pass{
				{from: 0, to: 9, want: "D/d-1"}, // 50 does not exceed the cap of 50
				{from: 10, to: 14, want: "D/d-1 C/c-1"},
				{from: 15, to: 34, want: "D/d-1 C/c-1 B/b-1"},
				{from: 35, to: 40, want: "D/d-1 C/c-1 B/b-1 A/a-1"}, // there is no cap any more
			},
		},
		{
			name: "V5 a policy without duration holds until the timeout", queue: messages.Queue{Policies: []messages.LatencyPolicy{
				policy(100, 0), policy(50, 10*time.Second),
			}},
			destinations: []string{"A a-1", "B b-1", "C c-1"}, latencies: []string{"p a-1 101", "p b-1 100", "p c-1 50"},
			passes: []pass{{from: 0, to: 9, want: "C/c-1"}, {from: 10, to: 599, want: "C/c-1 B/b-1"}},
		},
		{
			name: "V5 policies mean nothing without latencies", queue: messages.Queue{Policies: []messages.LatencyPolicy{policy(0, 0)}},
			destinations: []string{"A a-1", "B b-1"}, passes: []pass{{want: "A/a-1 B/b-1"}},
		},
		{
			name: "V5 one player over the cap is enough, and nobody's silence", queue: messages.Queue{Policies: []messages.LatencyPolicy{policy(100, 0)}},
			destinations: []string{"A a-1", "B b-1"}, latencies: []string{"p1 a-1 10", "p2 a-1 10", "p3 a-1 101", "p1 b-1 90"},
			passes: []pass{{want: "B/b-1"}},
		},
		{
			name: "V5 a cap that nothing meets is no error", queue: messages.Queue{Policies: []messages.LatencyPolicy{policy(1, 5*time.Second)}},
			destinations: []string{"A a-1"}, latencies: []string{"p a-1 2"},
			passes: []pass{{from: 0, to: 4, want: ""}, {from: 5, want: "A/a-1"}},
		},
		{
			name: "V6 partial reports and a single finite policy", queue: messages.Queue{Policies: []messages.LatencyPolicy{policy(80, 30*time.Second)}},
			destinations: []string{"C eu-west-1", "B us-west-2", "A us-east-1"},
			latencies:    []string{"p1 us-east-1 90", "p2 us-east-1 30", "p2 us-west-2 70"},
			passes: []pass{
				{from: 0, to: 29, want: "B/us-west-2 C/eu-west-1"},
				{from: 30, to: 59, want: "A/us-east-1 B/us-west-2 C/eu-west-1"},
			},
		},
		{
			name: "V7 locations without reports go by cost, destination, name", queue: messages.Queue{},
			destinations: []string{"A z-1,y-1 0.2", "B x-1 0.2", "C w-1 0.1", "D v-1 9"}, latencies: []string{"p v-1 500"},
			passes: []pass{{want: "D/v-1 C/w-1 A/y-1 A/z-1 B/x-1"}},
		},
		{
			name: "V8 the last of two reports of a player for a location counts", queue: messages.Queue{Policies: []messages.LatencyPolicy{policy(100, 0)}},
			destinations: []string{"A a-1", "B b-1"}, latencies: []string{"p a-1 500", "p b-1 50", "p a-1 10", "q b-1 40", "q b-1 60"},
			passes: []pass{{want: "A/a-1 B/b-1"}},
		},
		{
			name: "V9 priority: cost first", queue: prioritized("", byCost),
			destinations: []string{"A a-1 0.3", "B b-1 0.1", "C c-1 0.1"}, latencies: []string{"p a-1 1", "p b-1 90", "p c-1 80"},
			passes: []pass{{want: "C/c-1 B/b-1 A/a-1"}},
		},
		{
			name: "V9 priority: cost counts without latencies, too, if there is one", queue: prioritized("", byCost, byLatency),
			destinations: []string{"A a-1 10.5", "B b-1 9.25"}, passes: []pass{{want: "B/b-1 A/a-1"}},
		},
		{
			name: "V9 priority: destination before latency", queue: prioritized("", byDestination),
			destinations: []string{"A a-1,b-1", "B c-1"}, latencies: []string{"p a-1 90", "p b-1 80", "p c-1 1"},
			passes: []pass{{want: "A/b-1 A/a-1 B/c-1"}},
		},
		{
			name: "V9 priority: destination, then location", queue: prioritized("b-1,a-1", byDestination, byLocation),
			destinations: []string{"A a-1,b-1,0-1", "B b-1"}, passes: []pass{{want: "A/b-1 A/a-1 A/0-1 B/b-1"}},
		},
		{
			name: "V9 priority: location, then what is missing in its order", queue: prioritized("b-1", byLocation),
			destinations: []string{"A b-1 0.9", "B a-1 0.1", "C b-1 0.2"}, latencies: []string{"p a-1 1", "p b-1 2"},
			passes: []pass{{want: "C/b-1 A/b-1 B/a-1"}},
		},
		{
			name: "V9 priority: all four", queue: prioritized("b-1,a-1", byLocation, byCost, byDestination, byLatency),
			destinations: []string{"A a-1,b-1 0.5", "B a-1,b-1 0.5", "C b-1 0.1"},
			passes:       []pass{{want: "C/b-1 A/b-1 B/b-1 A/a-1 B/a-1"}},
		},
		{
			name: "V10 unlisted locations are behind, by name", queue: prioritized("c-1,zz-1", byLocation),
			destinations: []string{"A d-1,B-1", "B a-1,c-1"}, passes: []pass{{want: "B/c-1 A/B-1 B/a-1 A/d-1"}},
		},
		{
			name: "V10 a location order alone breaks ties", queue: prioritized("b-1,a-1"),
			destinations: []string{"A a-1,b-1,0-1 1"}, passes: []pass{{want: "A/b-1 A/a-1 A/0-1"}},
		},
		{
			name: "V11 of a fleet and location that are there twice, the lowest destination counts", queue: messages.Queue{},
			destinations: []string{"B b-1", "A a-1", "B a-1,b-1", "A a-1"}, passes: []pass{{want: "B/b-1 A/a-1 B/a-1"}},
		},
		{
			name: "V12 no destinations", passes: []pass{{want: ""}},
		},
		{
			name: "V12 a filter that allows nothing that there is", queue: messages.Queue{AllowedLocations: []string{"x-1"}},
			destinations: []string{"A a-1"}, passes: []pass{{want: ""}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			k := NewRanking(&messages.StartPlacement{
				Latencies: latenciesOf(t, test.latencies...), LocationOrder: test.override, FallbackNone: test.none,
			})
			candidates := candidatesOf(t, test.destinations...)
			for _, p := range test.passes {
				for s := p.from; s <= max(p.from, p.to); s++ {
					if got := shown(k.Order(&test.queue, time.Duration(s)*time.Second, !p.later, candidates)); got != p.want {
						t.Errorf("at %d s: %s, want %s", s, got, p.want)
					}
				}
			}
		})
	}
}

var (
	someLocations  = rapid.SampledFrom([]string{"a-1", "b-1", "c-1", "d-1", "custom-x"})
	someCandidates = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) messages.Candidate {
		i := rapid.IntRange(0, 5).Draw(t, "destination")
		return messages.Candidate{
			Destination: i, FleetID: messages.FleetID(rune('A' + i%4)), Location: someLocations.Draw(t, "location"),
			Cost: float64(rapid.IntRange(0, 3).Draw(t, "cost")), Room: rapid.Bool().Draw(t, "room"),
		}
	}), 0, 20)
	somePriority = rapid.SampledFrom([]messages.Priority{byLatency, byCost, byDestination, byLocation})
	someQueue    = rapid.Custom(func(t *rapid.T) *messages.Queue {
		q := &messages.Queue{HasPriority: rapid.Bool().Draw(t, "priorities")}
		if q.HasPriority {
			q.PriorityOrder = rapid.SliceOfNDistinct(somePriority, 0, 4, rapid.ID).Draw(t, "order")
			q.LocationOrder = rapid.SliceOfNDistinct(someLocations, 0, 3, rapid.ID).Draw(t, "locations")
		}
		if rapid.Bool().Draw(t, "filter") {
			q.AllowedLocations = rapid.SliceOfNDistinct(someLocations, 1, 4, rapid.ID).Draw(t, "allowed")
		}
		for range rapid.IntRange(0, 3).Draw(t, "policies") {
			q.Policies = append(q.Policies, policy(rapid.IntRange(0, 100).Draw(t, "cap"), time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds"))*time.Second))
		}
		return q
	})
	someRequest = rapid.Custom(func(t *rapid.T) *messages.StartPlacement {
		r := new(messages.StartPlacement)
		if rapid.Bool().Draw(t, "override") {
			r.LocationOrder = rapid.SliceOfNDistinct(someLocations, 1, 3, rapid.ID).Draw(t, "locations")
			r.FallbackNone = rapid.Bool().Draw(t, "none")
			return r
		}
		for range rapid.IntRange(0, 12).Draw(t, "reports") {
			r.Latencies = append(r.Latencies, messages.PlayerLatency{
				PlayerID: messages.PlayerID(rune('p' + rapid.IntRange(0, 3).Draw(t, "player"))), Location: someLocations.Draw(t, "location"),
				Latency: rapid.Float32Range(0, 120).Draw(t, "ms"),
			})
		}
		return r
	})
	someTime = rapid.Map(rapid.IntRange(0, 20), func(s int) time.Duration { return time.Duration(s) * time.Second })
)

// The order is total. Shuffling the candidates and the reports changes nothing, except for reports of the same player
// and location. A second call returns the same result.
func TestOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, r, candidates := someQueue.Draw(t, "queue"), someRequest.Draw(t, "request"), someCandidates.Draw(t, "candidates")
		// All candidates of a fleet and location have the same cost.
		for i := range candidates {
			candidates[i].Cost = float64(int(candidates[i].FleetID[0])*7%3 + len(candidates[i].Location)%2)
			candidates[i].Room = false
		}
		at, first := someTime.Draw(t, "t"), rapid.Bool().Draw(t, "first")
		want := NewRanking(r).Order(q, at, first, candidates)
		again := NewRanking(&messages.StartPlacement{
			Latencies: rapid.Permutation(lastReports(r.Latencies)).Draw(t, "reports"), LocationOrder: r.LocationOrder, FallbackNone: r.FallbackNone,
		}).Order(q, at, first, rapid.Permutation(candidates).Draw(t, "shuffled"))
		if !slices.Equal(want, again) {
			t.Fatalf("%v, shuffled %v", shown(want), shown(again))
		}
		if sorted := NewRanking(r).Order(q, at, first, want); !slices.Equal(want, sorted) {
			t.Fatalf("%v, again %v", shown(want), shown(sorted))
		}
	})
}

func lastReports(all []messages.PlayerLatency) (last []messages.PlayerLatency) {
	for i, l := range all {
		if !slices.ContainsFunc(all[i+1:], func(o messages.PlayerLatency) bool { return o.PlayerID == l.PlayerID && o.Location == l.Location }) {
			last = append(last, l)
		}
	}
	return last
}

// The result contains exactly the candidates that no rule excludes, once per fleet and location.
func TestOrderKeepsWhatIsAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, r, candidates := someQueue.Draw(t, "queue"), someRequest.Draw(t, "request"), someCandidates.Draw(t, "candidates")
		at, first := someTime.Draw(t, "t"), rapid.Bool().Draw(t, "first")
		got := NewRanking(r).Order(q, at, first, candidates)
		seen := map[destination]bool{}
		for _, c := range got {
			if seen[destinationOf(c)] {
				t.Fatalf("%v is there twice", destinationOf(c))
			}
			seen[destinationOf(c)] = true
			for _, d := range candidates {
				if destinationOf(d) == destinationOf(c) && d.Destination < c.Destination {
					t.Fatalf("%v has a lower destination, %d", c, d.Destination)
				}
			}
		}
		for _, c := range candidates {
			if want := allowed(q, r, at, first, c.Location); want != seen[destinationOf(c)] {
				t.Fatalf("%v: allowed %v, there %v", c, want, seen[destinationOf(c)])
			}
		}
	})
}

// allowed is a simple second implementation of the rules.
func allowed(q *messages.Queue, r *messages.StartPlacement, at time.Duration, first bool, location string) bool {
	if q.AllowedLocations != nil && !slices.Contains(q.AllowedLocations, location) {
		return false
	}
	if len(r.LocationOrder) > 0 && (first || r.FallbackNone) && !slices.Contains(r.LocationOrder, location) {
		return false
	}
	policies := slices.Clone(q.Policies)
	slices.SortStableFunc(policies, func(a, b messages.LatencyPolicy) int { return a.Max - b.Max })
	for _, p := range policies {
		if p.Duration == 0 || at < p.Duration {
			return !slices.ContainsFunc(lastReports(r.Latencies), func(l messages.PlayerLatency) bool {
				return l.Location == location && l.Latency > float32(p.Max)
			})
		}
		at -= p.Duration
	}
	return true
}
