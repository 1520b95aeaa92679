package matchmaking

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"troupe/bench/page"

	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
)

// Options configures a simulation.
type Options struct {
	Interval time.Duration // time between two passes
	Timeout  time.Duration // age at which a ticket is removed unmatched
	Seed     uint64
}

// Report is the result of a simulation. Times are in seconds.
type Report struct {
	RuleSet      string    `json:"ruleSet"`
	Tickets      int       `json:"tickets"`
	MadeUp       []string  `json:"madeUp,omitempty"` // attributes and values, see Population.MadeUp
	Matched      int       `json:"matched"`
	Matches      int       `json:"matches"`
	Players      float64   `json:"playersPerMatch"`
	WaitMedian   float64   `json:"waitP50"`
	WaitP90      float64   `json:"waitP90"`
	WaitP99      float64   `json:"waitP99"`
	WaitMost     float64   `json:"waitMax"`
	Evaluations  int       `json:"evaluations"`
	Stages       []Stage   `json:"stages"`
	Quality      []Quality `json:"quality"`
	Unmatched    []Reason  `json:"unmatched"`
	Distribution []float64 `json:"waits"` // waits of the matched tickets, sorted
}

// Stage counts the matches made with the expansions that apply from a ticket age on. The fewer matches a late stage
// has, the better the matches are.
type Stage struct {
	From    float64  `json:"from"`
	Changes []string `json:"changes"`
	Matches int      `json:"matches"`
}

// Reason is why tickets found no match. A ticket is counted once for each rule that blocked it.
type Reason struct {
	Reason  string `json:"reason"`
	Tickets int    `json:"tickets"`
}

// Simulate runs a rule set over tickets, which must be ordered by Start. It returns an error if the pool rejects a
// ticket.
func Simulate(set *ruleset.RuleSet, tickets []match.Ticket, o Options) (Report, error) {
	pool := match.New(set, match.Options{})
	report := Report{RuleSet: set.Name, Tickets: len(tickets)}
	for i, s := range set.Stages {
		stage := Stage{From: s.From.Seconds(), Changes: []string{}}
		for _, c := range set.Changes {
			if c.At == s.From && i > 0 {
				stage.Changes = append(stage.Changes, fmt.Sprintf("%s %s -> %s", c.Target, c.From, c.To))
			}
		}
		report.Stages = append(report.Stages, stage)
	}
	reasons := map[string]int{}
	players := 0
	var quality qualities
	now := epoch
	for pass := uint64(0); len(tickets) > 0 || pool.Len() > 0; pass++ {
		now = now.Add(o.Interval)
		if pool.Len() == 0 && tickets[0].Start.After(now) {
			now = tickets[0].Start // the pool is empty: skip to the next arrival
		}
		for len(tickets) > 0 && !tickets[0].Start.After(now) {
			if err := pool.Add(tickets[0]); err != nil {
				return report, fmt.Errorf("ticket %s: %w", tickets[0].ID, err)
			}
			tickets = tickets[1:]
		}
		for _, t := range pool.Tickets() {
			if now.Sub(t.Start) < o.Timeout {
				break // the remaining tickets are younger
			}
			explain(pool, t.ID, now, reasons)
			pool.Remove(t.ID)
		}
		p := pool.Begin(now, o.Seed+pass)
		for !p.Step(1 << 20) {
		}
		report.Evaluations += p.Evaluations()
		for _, m := range p.Take() {
			report.Matches++
			report.Stages[set.StageAt(m.Age)].Matches++
			measures, err := measureMatch(set, &m)
			if err != nil {
				return report, err
			}
			quality.add(measures)
			for _, t := range m.Tickets {
				players += len(t.Players)
				report.Distribution = append(report.Distribution, now.Sub(t.Start).Seconds())
			}
		}
	}
	report.Quality = quality.sum()
	report.sum(players, reasons)
	return report, nil
}

// explain counts the reasons why a ticket found no match.
func explain(pool *match.Pool, id string, now time.Time, reasons map[string]int) {
	e, _ := pool.Explain(id, now, math.MaxInt)
	switch {
	case e.Never != "":
		reasons[e.Never]++
	case e.Players < e.Needed:
		for _, b := range e.Blocked {
			if text, no := strings.CutPrefix(b.Rule, "("); no { // a limit that is not a rule
				reasons["other tickets: "+strings.TrimSuffix(text, ")")]++
			} else {
				reasons["rule "+b.Rule]++
			}
		}
		if len(e.Blocked) == 0 {
			reasons["too few other players"]++
		}
	case e.Cut:
		reasons["enough players, but the search stopped at its limit before it had tried all sets of them"]++
	default:
		reasons["enough players, but no set of them satisfies all rules"]++
	}
}

func (r *Report) sum(players int, reasons map[string]int) {
	slices.Sort(r.Distribution)
	r.Matched = len(r.Distribution)
	if r.Matches > 0 {
		r.Players = float64(players) / float64(r.Matches)
		at := func(share float64) float64 { return r.Distribution[int(share*float64(r.Matched-1))] }
		r.WaitMedian, r.WaitP90, r.WaitP99, r.WaitMost = at(0.5), at(0.9), at(0.99), at(1)
	}
	r.Unmatched = []Reason{}
	for _, text := range slices.Sorted(maps.Keys(reasons)) {
		r.Unmatched = append(r.Unmatched, Reason{text, reasons[text]})
	}
	slices.SortStableFunc(r.Unmatched, func(a, b Reason) int { return cmp.Compare(b.Tickets, a.Tickets) })
	if len(r.Unmatched) > 20 {
		r.Unmatched = r.Unmatched[:20]
	}
}

// Write writes the report as text tables.
func (r *Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "tickets\t%d\nmatched\t%d\t(%.1f %%)\nmatches\t%d\t(%.1f players each)\n", r.Tickets, r.Matched, 100*float64(r.Matched)/float64(max(r.Tickets, 1)), r.Matches, r.Players)
	if len(r.MadeUp) > 0 {
		fmt.Fprintf(w, "No --attribute gives values for these, so they are made up: %s\n\n", strings.Join(r.MadeUp, ", "))
	}
	fmt.Fprintf(t, "wait\tp50 %.1f s\tp90 %.1f s\tp99 %.1f s\tmax %.1f s\n", r.WaitMedian, r.WaitP90, r.WaitP99, r.WaitMost)
	fmt.Fprintf(t, "\nAGE\tMATCHES\tEXPANSION\n")
	for _, s := range r.Stages {
		change := "as the rules are"
		for i, c := range s.Changes {
			if change = c; i > 0 {
				change = fmt.Sprintf("%s, and %d more", s.Changes[0], i)
			}
		}
		fmt.Fprintf(t, "from %v s\t%d\t%s\n", s.From, s.Matches, change)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	writeQuality(w, r.Quality)
	if len(r.Unmatched) > 0 {
		fmt.Fprintf(t, "\nUNMATCHED\tWHY\n")
		for _, u := range r.Unmatched {
			fmt.Fprintf(t, "%d\t%s\n", u.Tickets, u.Reason)
		}
	}
	return t.Flush()
}

//go:embed page/body.html
var body string

//go:embed page/script.js
var script string

var report = page.New(body, script)

// Page writes the report as an HTML page.
func (r *Report) Page(w io.Writer) error {
	return report.Write(w, "troupe match simulate", r, r)
}
