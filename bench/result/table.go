package result

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the result for a terminal: the workload, the machine, a table, the goals and the warnings.
func (r *Result) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", r.Workload, r.About)
	fmt.Fprintf(w, "load: %s; %s, medians (least..greatest)\n", r.Load, r.rounds())
	fmt.Fprintln(w, r.Machine)
	for _, s := range r.Subjects {
		if s.Build != "" {
			fmt.Fprintf(w, "%s: %s\n", s.Name, s.Build)
		}
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Subjects {
		fmt.Fprint(t, "\t", s.Name)
	}
	fmt.Fprintln(t)
	for _, f := range Catalogue {
		if row, known := r.row(f); known {
			fmt.Fprintln(t, row)
		}
	}
	_ = t.Flush()
	fmt.Fprintln(w)
	for _, g := range r.Goals {
		fmt.Fprintln(w, g)
	}
	for _, text := range r.Absent {
		fmt.Fprintln(w, "not measured:", text)
	}
	for _, text := range r.Warnings {
		fmt.Fprintln(w, "warning:", text)
	}
	for _, text := range r.Void {
		fmt.Fprintln(w, "PROVES NOTHING:", text)
	}
}

// row returns one line of the table. known is false if no subject has the figure.
func (r *Result) row(f Figure) (row string, known bool) {
	var b strings.Builder
	b.WriteString(f.Label)
	if f.Unit != "" {
		b.WriteString(", " + f.Unit)
	}
	for i, s := range r.Subjects {
		b.WriteByte('\t')
		spread, ok := s.Figures[f.Name]
		if !ok {
			b.WriteByte('-')
			continue
		}
		known = true
		b.WriteString(spread.Format(f.Digits))
		if first, ok := r.Subjects[0].Figures[f.Name]; ok && i > 0 && first.Median != 0 && f.compared() {
			fmt.Fprintf(&b, " = %.2fx", r.ratio(i, f.Name))
		}
	}
	return b.String(), known
}

// compared reports whether the table shows the ratio to the first subject.
func (f Figure) compared() bool {
	switch f.Name {
	case "cpu_us", "cpu_inbound_us", "best_per_s", "kib_per_connection", "joins_per_s", "cpu_join_us":
		return true
	}
	return false
}

// ratio returns the median over all rounds of the ratio to the first subject.
func (r *Result) ratio(i int, figure string) float64 {
	v, ok := r.Subjects[i].values(figure), r.Subjects[0].values(figure)
	ratios := make([]float64, min(len(v), len(ok)))
	for k := range ratios {
		ratios[k] = v[k] / ok[k]
	}
	return SpreadOf(ratios).Median
}

// rounds describes how often each subject was measured.
func (r *Result) rounds() string {
	if r.Rounds == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds in turns", r.Rounds)
}

// PrintSets writes the tables of several files for a terminal. Each workload is shown side by side, with warnings about
// what makes the sets hard to compare.
func PrintSets(w io.Writer, sets []Set) {
	for _, s := range sideBySide(sets) {
		fmt.Fprintf(w, "%s: %s\n\n", s.Name, s.About)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\t"+strings.Join(s.Columns, "\t"))
		for _, row := range s.Rows {
			fmt.Fprintln(t, row.Label+"\t"+strings.Join(row.Cells, "\t"))
		}
		_ = t.Flush()
		fmt.Fprintln(w)
		for _, text := range s.Warnings {
			fmt.Fprintln(w, "warning:", text)
		}
		for _, run := range s.Runs {
			for _, text := range run.Void {
				fmt.Fprintf(w, "PROVES NOTHING: %s: %s\n", run.File, text)
			}
		}
		fmt.Fprintln(w)
	}
}
