package matchmaking

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Quality describes how good the matches of a simulation are by one rule.
type Quality struct {
	Rule     string  `json:"rule"`
	Matches  int     `json:"matches"`
	Expanded int     `json:"expanded"` // matches that the rule accepts only because of expansions
	Known    bool    `json:"known"`    // the rule has a number: a distance, a latency, a count, or an operand of a comparison
	LowWorse bool    `json:"lowWorse"` // lower values are worse
	Median   float64 `json:"p50"`
	P90      float64 `json:"p90"` // 90 % of the matches are at least as good
	P99      float64 `json:"p99"`
	Worst    float64 `json:"worst"`
	// Values holds the values of at most 500 evenly spaced matches, best first.
	Values []float64 `json:"values"`
}

// Share returns the percentage of matches that needed an expansion of the rule.
func (q Quality) Share() float64 { return 100 * float64(q.Expanded) / float64(max(q.Matches, 1)) }

// qualities accumulates the measures of matches.
type qualities struct {
	all []Quality
}

func (c *qualities) add(measures []measure) {
	if c.all == nil {
		for _, m := range measures {
			c.all = append(c.all, Quality{Rule: m.rule, Values: []float64{}})
		}
	}
	for i, m := range measures {
		q := &c.all[i]
		q.Matches++
		if m.expanded {
			q.Expanded++
		}
		if m.known {
			q.Known, q.LowWorse = true, m.lowWorse
			q.Values = append(q.Values, m.value)
		}
	}
}

// sum computes the percentiles.
func (c *qualities) sum() []Quality {
	for i := range c.all {
		q := &c.all[i]
		if !q.Known {
			continue
		}
		slices.Sort(q.Values)
		if q.LowWorse {
			slices.Reverse(q.Values)
		}
		last := len(q.Values) - 1
		at := func(share float64) float64 { return q.Values[int(share*float64(last))] }
		q.Median, q.P90, q.P99, q.Worst = at(0.5), at(0.9), at(0.99), at(1)
		const most = 500
		if last >= most {
			few := make([]float64, most)
			for j := range few {
				few[j] = at(float64(j) / (most - 1))
			}
			q.Values = few
		}
	}
	if c.all == nil {
		return []Quality{}
	}
	return c.all
}

func writeQuality(w io.Writer, all []Quality) {
	if len(all) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nRULE\tP50\tP90\tP99\tWORST\tNEEDED AN EXPANSION\n")
	for _, q := range all {
		if q.Known {
			fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%.4g\t%.4g\t%.1f %%\n", q.Rule, q.Median, q.P90, q.P99, q.Worst, q.Share())
		} else {
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\t%.1f %%\n", q.Rule, q.Share())
		}
	}
	t.Flush() // the error is ignored here: Write reports the errors of w
}
