//go:build faults

package fault

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Enabled says whether the binary has failpoints.
const Enabled = true

var state struct {
	sync.Mutex
	known bool // the rules are set, or the environment has been read
	rules []rule
	hits  map[string]int
}

// Set replaces all rules and resets the counts of hits. A specification is a comma-separated list of
// POINT=ACTION[:WHEN]. ACTION is kill (sends SIGKILL to this process), panic or error. WHEN is the number of a hit,
// counted from 1, or a range such as 3-5 or 3+. Without WHEN the rule applies to every hit. The first matching rule
// applies.
func Set(spec string) error {
	rules, err := parse(spec)
	if err != nil {
		return err
	}
	state.Lock()
	defer state.Unlock()
	state.known, state.rules, state.hits = true, rules, make(map[string]int)
	return nil
}

// Hits returns how often a point has been hit since Set.
func Hits(name string) int {
	state.Lock()
	defer state.Unlock()
	return state.hits[name]
}

// Hit counts a hit of a point and carries out the matching rule. If it returns true, the caller must behave as if the
// next operation had failed. Any goroutine may call it.
func Hit(name string) bool {
	switch act(name) {
	case kill:
		die()
	case crash:
		panic("fault: " + name)
	case fail:
		return true
	}
	return false
}

func act(name string) action {
	state.Lock()
	defer state.Unlock()
	if !state.known {
		rules, err := parse(os.Getenv(Variable))
		if err != nil {
			panic(Variable + ": " + err.Error()) // do not run a test with rules that are not in effect
		}
		state.known, state.rules, state.hits = true, rules, make(map[string]int)
	}
	state.hits[name]++
	for _, r := range state.rules {
		if r.name == name && r.first <= state.hits[name] && state.hits[name] <= r.last {
			return r.action
		}
	}
	return nothing
}

// die ends the process as SIGKILL does: no more code runs.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {} // wait for the signal
}

type action uint8

const (
	nothing action = iota
	kill
	crash
	fail
)

var actions = map[string]action{"kill": kill, "panic": crash, "error": fail}

// rule says what happens at the hits of a point from first to last.
type rule struct {
	name        string
	action      action
	first, last int
}

// parse parses a specification (see Set).
func parse(spec string) ([]rule, error) {
	var rules []rule
	for part := range strings.SplitSeq(spec, ",") {
		if part == "" {
			continue
		}
		name, rest, ok := strings.Cut(part, "=")
		what, when, timed := strings.Cut(rest, ":")
		r := rule{name: name, action: actions[what], first: 1, last: math.MaxInt}
		switch {
		case !ok || r.action == nothing:
			return nil, fmt.Errorf("fault: %q: must be POINT=ACTION[:WHEN] with kill, panic or error", part)
		case !slices.Contains(names, name):
			return nil, fmt.Errorf("fault: %q: there is no point %q", part, name)
		case timed && !r.at(when):
			return nil, fmt.Errorf("fault: %q: WHEN must be a number from 1 on, N-M or N+", part)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// at parses N, N-M or N+.
func (r *rule) at(when string) bool {
	from, to, both := strings.Cut(when, "-")
	if open, ok := strings.CutSuffix(when, "+"); ok {
		from, to, both = open, strconv.Itoa(math.MaxInt), true
	}
	if !both {
		to = from
	}
	var err, err2 error
	r.first, err = strconv.Atoi(from)
	r.last, err2 = strconv.Atoi(to)
	return err == nil && err2 == nil && r.first >= 1 && r.first <= r.last
}
