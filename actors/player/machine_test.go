package player

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
)

type stepFunc func(m Machine, r Rules, e Event) (Machine, []Effect)

func realStep(m Machine, r Rules, e Event) (Machine, []Effect) { return m.Step(r, e) }

var allRules = []Rules{
	{}, {Takeover: true}, {Window: true}, {Window: true, Takeover: true},
	{Rejoin: true}, {Takeover: true, Rejoin: true}, {Window: true, Rejoin: true}, {Window: true, Takeover: true, Rejoin: true},
}

// roots are the machines with which an actor may start.
var roots = []Machine{{State: Reserved}, {State: Reserved, Reservation: ReservationNone}}

// check checks the invariants for one step. If compare is true, it also compares the step with the reference.
func check(step stepFunc, compare bool, r Rules, m Machine, h history, e Event) (Machine, history, error) {
	next, effects := step(m, r, e)
	if compare {
		wantNext, want := reference(m, r, e)
		if next != wantNext || !slices.Equal(effects, want) {
			return next, h, fmt.Errorf("%+v in %v, %v: got %v %v, want %v %v", r, m, e, next, effects, wantNext, want)
		}
	}
	h, err := h.after(r, m, e, next, effects)
	return next, h, err
}

// explorer explores all sequences of events. Sequences that lead to the same machine with the same history behave in
// the same way from there on, so each such point is explored only once.
type explorer struct {
	step    stepFunc
	compare bool
	rules   Rules
	known   map[point]bool
	trace   []Event
}

type point struct {
	m     Machine
	h     history
	depth int
}

func (x *explorer) walk(m Machine, h history, depth int) error {
	p := point{m, h, depth}
	if depth == 0 || x.known[p] {
		return nil
	}
	for _, e := range events(m) {
		x.trace = append(x.trace, e)
		next, after, err := check(x.step, x.compare, x.rules, m, h, e)
		if err != nil {
			return fmt.Errorf("after %v: %w", x.trace, err)
		}
		if err := x.walk(next, after, depth-1); err != nil {
			return err
		}
		x.trace = x.trace[:len(x.trace)-1]
	}
	x.known[p] = true
	return nil
}

func explore(step stepFunc, compare bool, r Rules, depth int) error {
	x := &explorer{step: step, compare: compare, rules: r, known: make(map[point]bool)}
	for _, m := range roots {
		if err := x.walk(m, newHistory(), depth); err != nil {
			return err
		}
	}
	return nil
}

// Sequences of any length, with up to four connections and four logins before the gate's decision.
func TestMachineFollowsTheTableInEveryStateItCanReach(t *testing.T) {
	const most = 4
	for _, r := range allRules {
		seen, steps := make(map[point]bool), 0
		var queue []point
		visit := func(p point) {
			if !seen[p] && p.m.Epoch <= most && p.m.Attempt <= most {
				seen[p] = true
				queue = append(queue, p)
			}
		}
		for _, m := range roots {
			visit(point{m: m, h: newHistory()})
		}
		for len(queue) > 0 {
			p := queue[0]
			queue = queue[1:]
			for _, e := range events(p.m) {
				next, after, err := check(realStep, true, r, p.m, p.h, e)
				assert.NoError(t, err)
				steps++
				visit(point{m: next, h: after})
			}
		}
		t.Logf("%+v: %d steps from %d states", r, steps, len(seen))
	}
}

func TestMachineFollowsTheTableOnLongRandomSequences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(allRules).Draw(t, "rules")
		m, h := rapid.SampledFrom(roots).Draw(t, "root"), newHistory()
		for range rapid.IntRange(1, 300).Draw(t, "length") {
			all := events(m)
			e := all[rapid.IntRange(0, len(all)-1).Draw(t, "event")]
			switch {
			case hasEpoch(e.Kind) && rapid.IntRange(0, 3).Draw(t, "far") == 0:
				e.Epoch = messages.Epoch(rapid.Uint64Range(0, 9).Draw(t, "epoch"))
			case e.Kind == GameEnded || e.Kind == Kicked: // otherwise most runs would end early
				if rapid.IntRange(0, 9).Draw(t, "end") > 0 {
					continue
				}
			}
			var err error
			if m, h, err = check(realStep, true, r, m, h, e); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// mutant is a Step function with one wrong row in the table.
type mutant struct {
	name string
	step stepFunc
}

func mutants() (all []mutant) {
	for i, row := range table {
		row := row
		broken := func(name string, f func(m, next Machine, effects []Effect) (Machine, []Effect)) {
			all = append(all, mutant{fmt.Sprintf("row %d: %v %v %s", i, row.from, row.on, name), func(m Machine, r Rules, e Event) (Machine, []Effect) {
				next, effects := m.Step(r, e)
				if !row.fits(m, r, e) {
					return next, effects
				}
				return f(m, next, effects)
			}})
		}
		broken("is ignored", func(m, _ Machine, _ []Effect) (Machine, []Effect) { return m, nil })
		for s := Reserved; s <= Gone; s++ {
			if s != row.to {
				broken("goes to "+s.String(), func(_, next Machine, effects []Effect) (Machine, []Effect) { return next.to(s), effects })
			}
		}
		for j, effect := range row.do {
			broken("lacks "+effect.String(), func(_, next Machine, effects []Effect) (Machine, []Effect) {
				return next, slices.Delete(slices.Clone(effects), j, j+1)
			})
			broken("repeats "+effect.String(), func(_, next Machine, effects []Effect) (Machine, []Effect) {
				return next, slices.Insert(slices.Clone(effects), j, effect)
			})
		}
		broken("moves the epoch", func(_, next Machine, effects []Effect) (Machine, []Effect) {
			next.Epoch++
			return next, effects
		})
		for flag, of := range map[string]func(*Machine) *bool{
			"Left": func(m *Machine) *bool { return &m.Left }, "Challenged": func(m *Machine) *bool { return &m.Challenged },
		} {
			broken("takes "+flag+" for its contrary", func(_, next Machine, effects []Effect) (Machine, []Effect) {
				*of(&next) = !*of(&next)
				return next, effects
			})
		}
		for other := range ReservationNone {
			broken(fmt.Sprintf("takes the reservation for another, by %d", other+1), func(_, next Machine, effects []Effect) (Machine, []Effect) {
				next.Reservation = (next.Reservation + other + 1) % (ReservationNone + 1)
				return next, effects
			})
		}
	}
	all = append(all, mutant{"old epochs count", func(m Machine, r Rules, e Event) (Machine, []Effect) {
		if hasEpoch(e.Kind) {
			e.Epoch = m.Epoch
		}
		return m.Step(r, e)
	}}, mutant{"dead tokens count", func(m Machine, r Rules, e Event) (Machine, []Effect) {
		e.Credential = min(e.Credential, GoodToken)
		return m.Step(r, e)
	}}, mutant{"old answers count", func(m Machine, r Rules, e Event) (Machine, []Effect) {
		if hasAttempt(e.Kind) {
			e.Attempt = m.Attempt
		}
		return m.Step(r, e)
	}})
	return all
}

// This checks the checks: every possible mutation of every single transition must be found by comparison with the
// table, and most of them by the invariants alone.
func TestABrokenTransitionIsFound(t *testing.T) {
	found := func(s stepFunc, compare bool) bool {
		for _, r := range slices.Backward(allRules) { // the rules with the most options first
			if err := explore(s, compare, r, 4); err != nil {
				return true
			}
		}
		return false
	}
	all, alone := mutants(), 0
	if testing.Short() { // use every seventeenth mutant, which selects mutations of each kind at different transitions
		n := 0
		for i := 0; i < len(all); i += 17 {
			all[n] = all[i]
			n++
		}
		all = all[:n]
	}
	var missed []string
	for _, m := range all {
		if !found(m.step, true) {
			t.Errorf("%s: not found", m.name)
		}
		if found(m.step, false) {
			alone++
		} else {
			missed = append(missed, m.name)
		}
	}
	t.Logf("%d broken machines, all found by the table, %d by the invariants alone", len(all), alone)
	if alone*10 < len(all)*8 {
		t.Errorf("the invariants alone miss %d: %s", len(missed), strings.Join(missed, "; "))
	}
}

func TestNamesOfStatesEventsAndEffectsAreComplete(t *testing.T) {
	seen := make(map[string]bool)
	name := func(s string) {
		if s == "" || seen[s] || strings.EqualFold(s, "invalid") {
			t.Errorf("name %q", s)
		}
		seen[s] = true
	}
	for s := Reserved; s <= Gone; s++ {
		name(s.String())
	}
	for k := LoginArrived; k < eventKindEnd; k++ {
		name(k.String())
	}
	for e := AskGate; e < effectEnd; e++ {
		name(e.String())
	}
	if State(99).String() != "INVALID" || eventKindEnd.String() != "Invalid" || effectEnd.String() != "Invalid" {
		t.Error("a value that is none has a name")
	}
}
