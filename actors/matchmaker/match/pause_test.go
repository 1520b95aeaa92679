package match

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
)

// A pass calls Pause every few evaluations, even within one search. Calls of Pause do not change the matches.
func TestPassesPauseOften(t *testing.T) {
	const attributes = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],`
	for name, c := range map[string]struct {
		body    string
		tickets int
		begin   int // minimum number of evaluations counted per ticket until it is in a batch
		most    int // maximum number of evaluations between two pauses; a large batch counts its tickets in advance
	}{
		"most match": {fmt.Sprintf(benchRules, 200, 400, 800), 2000, 2, 250},
		"long searches": {attributes + `"teams":[{"name":"a","minPlayers":10,"maxPlayers":10,"quantity":2}],
			"rules":[{"name":"Sum","type":"comparison","measurements":["sum(teams[*].players.attributes[skill])"],"operation":"=","referenceValue":0.5}]}`, 500, 2, 250},
		"exact": {attributes + `"teams":[{"name":"a","minPlayers":2,"maxPlayers":5,"quantity":2}],
			"rules":[{"name":"Sum","type":"comparison","measurements":["sum(teams[*].players.attributes[skill])"],"operation":"=","referenceValue":0.5}]}`, exactTickets, 0, 250},
		"sorted": {attributes + `"algorithm":{"batchingPreference":"sorted","sortByAttributes":["skill"]},"teams":[{"name":"a","minPlayers":4,"maxPlayers":4}]}`, 2000, 8, 250},
		"by location": {attributes + `"algorithm":{"strategy":"balanced","balancedAttribute":"skill","batchingPreference":"fastestRegion"},
			"teams":[{"name":"a","minPlayers":20,"maxPlayers":30,"quantity":2}],"rules":[{"name":"Fast","type":"latency","maxLatency":100},
			{"name":"League","type":"batchDistance","batchAttribute":"skill","maxDistance":200}]}`, 2000, 1, 4000},
	} {
		t.Run(name, func(t *testing.T) {
			tickets := population(c.tickets, 1)
			var want []string
			for _, paused := range []bool{false, true} {
				var s *Pass
				begun, pauses, most, last := 0, 0, 0, 0
				o := Options{}
				if paused {
					o.Pause = func() {
						pauses++
						if s == nil {
							begun++
							return
						}
						at := s.work + s.search.work
						most, last = max(most, at-last), at
					}
				}
				pool := New(parse(t, c.body), o)
				fill(t, pool, tickets)
				s = pool.Begin(at(60), 1)
				for !s.Step(1000) {
				}
				var got []string
				for _, m := range s.Take() {
					got = append(got, fmt.Sprint(ids(m.Tickets)))
				}
				if !paused {
					want = got
					continue
				}
				if begun < c.begin*c.tickets/pauseEvery {
					t.Errorf("%d pauses until %d tickets were in batches", begun, c.tickets)
				}
				if n := s.Evaluations(); pauses-begun < n/(4*pauseEvery) || most > c.most {
					t.Errorf("%d pauses in %d evaluations, at most %d apart", pauses, n, most)
				}
				assert.Equal(t, "with pauses the matches are others", fmt.Sprint(got), fmt.Sprint(want))
				t.Logf("%d pauses in %d evaluations, at most %d apart", pauses, s.Evaluations(), most)
			}
		})
	}
}

// The next pass is due when a ticket reaches its next expansion step after the one that this pass has used.
// Tickets that can never be matched are ignored.
func TestTheNextStep(t *testing.T) {
	pool := New(parse(t, strings.Replace(skillRule, `"value":50}`, `"value":50},{"waitTimeSeconds":60,"value":90}`, 1)), Options{})
	next := func(now float64) time.Time {
		s := pool.Begin(at(now), 1)
		for !s.Step(1000) {
		}
		return s.NextStep()
	}
	never := skilled("never", 0, 1, 3)
	fill(t, pool, []Ticket{never})
	if got := next(1); !got.IsZero() {
		t.Errorf("a ticket that never matches makes a pass due %v", got)
	}
	fill(t, pool, []Ticket{skilled("a", 5, 100, 1), skilled("b", 2, 1000, 1)})
	for now, want := range map[float64]time.Time{6: at(32), 31.9: at(32), 32: at(35), 35: at(62), 62: at(65), 65: {}} {
		if got := next(now); !got.Equal(want) {
			t.Errorf("at %v: %v, want %v", now, got, want)
		}
	}
	s := pool.Begin(at(31), 1) // it ends after the step
	for !s.Step(1000) {
	}
	if got := s.NextStep(); !got.Equal(at(32)) || s.Unseen() {
		t.Errorf("%v", got)
	}
}
