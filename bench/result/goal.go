package result

import (
	"fmt"
	"strings"
)

// Goal is a required bound for a figure of a subject. With Over, the limit is Times the figure of the subject Over in
// the same round, plus Plus. Without Over, the limit is Plus.
type Goal struct {
	Subject string  `json:"subject"`
	Figure  string  `json:"figure"`
	Over    string  `json:"over,omitempty"`
	Times   float64 `json:"times,omitempty"`
	Plus    float64 `json:"plus,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"` // Got must be at least the limit; otherwise at most
	// Where, if set, is a precondition. If it does not hold, the goal counts as not measured. For example, a latency
	// goal is meaningless on a machine on which even the baseline misses it.
	Where *Goal `json:"where,omitempty"`
}

// Verdict is the result of judging a goal.
type Verdict struct {
	Goal
	Measured bool    `json:"measured"`
	Why      string  `json:"why,omitempty"`      // why it was not measured
	Unproven bool    `json:"unproven,omitempty"` // not measured because the figures are invalid
	Got      float64 `json:"got"`                // median figure; with Over and without Plus, the median ratio
	Limit    float64 `json:"limit"`              // median limit; with Over and without Plus, the limit of the ratio
	Holds    bool    `json:"holds"`
	Margin   float64 `json:"margin"` // distance to the limit as a share of the limit; negative if missed
}

// Unproven returns the verdict on a goal that cannot be judged because its figures are invalid.
func Unproven(g Goal, why string) Verdict { return Verdict{Goal: g, Why: why, Unproven: true} }

func (g Goal) judge(r *Result) Verdict {
	v := Verdict{Goal: g}
	if g.Where != nil {
		if w := g.Where.judge(r); !w.Measured || !w.Holds {
			v.Why = "only where " + w.words() + ", which it is not here"
			if w.Measured {
				v.Why += " (" + w.got() + ")"
			}
			return v
		}
	}
	got, limits, why := g.pairs(r)
	if v.Why = why; why != "" {
		return v
	}
	v.Measured = true
	if g.Over != "" && g.Plus == 0 {
		ratios := make([]float64, len(got))
		for i := range got {
			ratios[i] = got[i] / (limits[i] / g.Times)
		}
		v.Got, v.Limit = SpreadOf(ratios).Median, g.Times
	} else {
		v.Got, v.Limit = SpreadOf(got).Median, SpreadOf(limits).Median
	}
	spare := v.Limit - v.Got
	if g.AtLeast {
		spare = v.Got - v.Limit
	}
	if v.Holds = spare >= 0; v.Limit != 0 {
		v.Margin = spare / v.Limit
	}
	return v
}

// pairs returns the figure and the limit of each round. why is set if they are not known.
func (g Goal) pairs(r *Result) (got, limits []float64, why string) {
	s := r.Subject(g.Subject)
	if s == nil {
		return nil, nil, g.Subject + " was not measured"
	}
	if got = s.values(g.Figure); len(got) == 0 {
		return nil, nil, "of " + g.Subject + " it is not known"
	}
	limits = make([]float64, len(got))
	for i := range limits {
		limits[i] = g.Plus
	}
	if g.Over == "" {
		return got, limits, ""
	}
	o := r.Subject(g.Over)
	if o == nil {
		return nil, nil, g.Over + " was not measured"
	}
	other := o.values(g.Figure)
	if len(other) != len(got) {
		return nil, nil, "of " + g.Over + " it is not known"
	}
	for i, v := range other {
		if v == 0 && g.Plus == 0 {
			return nil, nil, "of " + g.Over + " it is 0"
		}
		limits[i] += g.Times * v
	}
	return got, limits, ""
}

// words describes the goal without its verdict.
func (g Goal) words() string {
	f := figureOf(g.Figure)
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s at ", strings.TrimSpace(f.Label), g.Subject)
	if g.AtLeast {
		b.WriteString("least ")
	} else {
		b.WriteString("most ")
	}
	if g.Over != "" {
		fmt.Fprintf(&b, "%.4g times %s", g.Times, g.Over)
		if g.Plus != 0 {
			fmt.Fprintf(&b, " plus %s", f.value(g.Plus))
		}
		return b.String()
	}
	b.WriteString(f.value(g.Plus))
	return b.String()
}

func (f Figure) value(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, f.Unit)) }

// got formats the measured value.
func (v Verdict) got() string {
	if v.Over != "" && v.Plus == 0 {
		return fmt.Sprintf("%.3g times", v.Got)
	}
	return figureOf(v.Figure).value(v.Got)
}

// String formats the verdict in one line.
func (v Verdict) String() string {
	if !v.Measured {
		return fmt.Sprintf("not measured  %s: %s", v.words(), v.Why)
	}
	got := v.got()
	line := "holds         "
	by := fmt.Sprintf("%.1f %% to spare", 100*v.Margin)
	if !v.Holds {
		line, by = "MISSED        ", fmt.Sprintf("by %.1f %%", -100*v.Margin)
	}
	if v.Limit == 0 {
		return fmt.Sprintf("%s%s: %s", line, v.words(), got)
	}
	return fmt.Sprintf("%s%s: %s, %s", line, v.words(), got, by)
}
