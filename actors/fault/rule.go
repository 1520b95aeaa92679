//go:build faults

package fault

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

type action uint8

const (
	nothing action = iota
	kill
	crash
	fail
)

var actions = map[string]action{"kill": kill, "panic": crash, "error": fail}

// rule says what happens at the hits first to last of a point.
type rule struct {
	name        string
	action      action
	first, last int
}

// parse reads a specification; see Set.
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

// at reads N, N-M or N+.
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
