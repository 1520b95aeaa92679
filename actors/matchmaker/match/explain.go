package match

import (
	"fmt"
	"slices"
	"time"

	"troupe/actors/matchmaker/ruleset"
)

// Explanation says why a ticket waits.
type Explanation struct {
	Never      string // why it can never be matched; empty: it can
	Age        time.Duration
	Others     int  // other tickets in the pool
	Sampled    int  // of Others, those that were examined: the counts below are among them
	Compatible int  // of Sampled, those that may be in a match with this ticket, as far as pairs show
	Players    int  // players of this ticket and of the compatible ones
	Needed     int  // minimum of players of a match
	Cut        bool // its last search spent its budget before it had tried all sets of tickets: there may be a match
	Blocked    []Blocked
	Next       []ruleset.Change // the next steps of expansions by the age of this ticket, all due together
	NextIn     time.Duration    // time until Next; 0: there is none
}

// Blocked counts the tickets that one rule excludes from a match with a ticket. Rule is in parentheses if the reason is not a rule.
type Blocked struct {
	Rule    string
	Tickets int
	Example string // id of one of these tickets
}

// Explain says why a ticket waits; false if it is not in the pool. It examines at most so many other tickets, evenly over the order of
// arrival, each in about a microsecond. It judges pairs: a rule about whole matches, such as one of averages, excludes none. So if
// enough tickets are compatible, the reason is such a rule, or they exclude each other.
func (p *Pool) Explain(id string, now time.Time, most int) (Explanation, bool) {
	e := p.byID[id]
	if e == nil {
		return Explanation{}, false
	}
	out := Explanation{Never: e.never, Age: now.Sub(e.start), Others: len(p.byID) - 1, Players: e.n, Cut: e.cut}
	a := *e
	a.stage = p.set.StageAt(out.Age)
	out.Needed = p.plans[a.stage].minTotal
	for _, c := range p.set.Changes {
		if c.At > out.Age && (out.NextIn == 0 || c.At-out.Age == out.NextIn) {
			out.NextIn = c.At - out.Age
			out.Next = append(out.Next, c)
		}
	}
	if e.never != "" {
		return out, true
	}
	v := &evaluator{}
	if r := p.brokenAlone(v, &a, a.stage); r != nil {
		out.Never = fmt.Sprintf("the ticket by itself breaks the rule %q", r.Name)
		if len(out.Next) > 0 {
			out.Never += " until an expansion changes it"
		}
	}
	// At most half of the entries have left the pool.
	step := 1 + (len(p.entries)-1)/max(most, 1)
	for i := 0; i < len(p.entries) && out.Sampled < most; i += step {
		other := p.entries[i]
		if other.gone || other == e {
			continue
		}
		out.Sampled++
		b := *other
		b.stage = p.set.StageAt(now.Sub(b.start))
		reasons := p.apart(v, &a, &b)
		for _, rule := range reasons {
			k := slices.IndexFunc(out.Blocked, func(b Blocked) bool { return b.Rule == rule })
			if k < 0 {
				k = len(out.Blocked)
				out.Blocked = append(out.Blocked, Blocked{Rule: rule, Example: other.ticket.ID})
			}
			out.Blocked[k].Tickets++
		}
		if len(reasons) == 0 {
			out.Compatible++
			out.Players += b.n
		}
	}
	return out, true
}

// apart returns why two tickets cannot be in one match: names of rules, or other reasons in parentheses.
func (p *Pool) apart(v *evaluator, a, b *entry) (reasons []string) {
	stage := p.younger(a.stage, b.stage)
	at := &p.plans[stage]
	switch {
	case b.never != "" || p.brokenAlone(v, b, b.stage) != nil:
		return []string{"(it matches nobody)"}
	case a.backfill && b.backfill:
		return []string{"(both are backfill tickets)"}
	case sharesPlayer(a, b):
		return []string{"(both have the same player)"}
	case a.n+b.n > at.maxTotal:
		reasons = append(reasons, "(too many players together)")
	}
	for i, r := range at.ranges {
		if d := a.keys[i] - b.keys[i]; max(d, -d) > r.max {
			reasons = append(reasons, at.rules[r.rule].Name)
		}
	}
	pair := p.crowd([]*entry{a, b})
	for _, r := range at.rules {
		if r.Enforced() && (r.Type == ruleset.Latency || r.Type == ruleset.BatchDistance && p.set.Attributes[r.Attribute].Type == ruleset.String) &&
			!v.holds(r, at.rules, p.set.Attributes, pair) {
			reasons = append(reasons, r.Name)
		}
	}
	for _, r := range at.early[bySet] {
		if !slices.Contains(reasons, r.Name) && !v.holds(r, at.pruning, p.set.Attributes, pair) { // parts of a compound rule share its name
			reasons = append(reasons, r.Name)
		}
	}
	return reasons
}
