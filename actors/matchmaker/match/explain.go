package match

import (
	"fmt"
	"slices"
	"time"

	"troupe/actors/matchmaker/ruleset"
)

// Explanation explains why a ticket has not been matched.
type Explanation struct {
	Never      string // why the ticket can never be matched; "" if it can
	Age        time.Duration
	Others     int  // other tickets in the pool
	Sampled    int  // number of the other tickets that were examined; the next counts refer to them
	Compatible int  // number of examined tickets that can be in a match with this ticket, as far as the check of pairs shows
	Players    int  // players of this ticket and of the compatible ones
	Needed     int  // minimum number of players of a match
	Cut        bool // the last search used up its budget before it had tried all sets of tickets, so there may be a match
	Blocked    []Blocked
	Next       []ruleset.Change // the next expansion steps by the age of this ticket; all have the same time
	NextIn     time.Duration    // time until Next; 0 if there is none
}

// Blocked counts the tickets that one rule excludes from a match with the ticket. If the reason is not a
// rule, Rule is a text in parentheses.
type Blocked struct {
	Rule    string
	Tickets int
	Example string // ID of one of these tickets
}

// Explain explains why a ticket has not been matched. It returns false if the ticket is not in the pool. The
// argument most limits the number of other tickets that Explain examines. They are evenly distributed over
// the order of arrival, and each takes about a microsecond. Explain checks pairs of tickets, so a rule about
// whole matches, such as one about averages, excludes none. If enough tickets are compatible, the reason is
// such a rule, or the compatible tickets exclude each other.
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
	// At most half of the entries have left the pool, so the sample is large enough.
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

// apart returns why two tickets cannot be in the same match: names of rules, or other reasons in parentheses.
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
		// The parts of a compound rule have the same name
		if !slices.Contains(reasons, r.Name) && !v.holds(r, at.pruning, p.set.Attributes, pair) {
			reasons = append(reasons, r.Name)
		}
	}
	return reasons
}
