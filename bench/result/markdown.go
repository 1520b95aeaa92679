package result

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"
)

//go:embed page/performance.md
var performanceText string

var performance = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("performance").Funcs(template.FuncMap{"sentence": sentence}).Parse(performanceText))
})

// Document generates docs/performance.md and docs/performance.json from results. The keys of files are the file names.
// The output is deterministic.
func Document(results []Result) (files map[string]string, err error) {
	files = make(map[string]string)
	shown := struct {
		Workloads []documented
		Goals     []string
		Versions  []string
		Machine   Machine
	}{Machine: results[0].Machine}
	for i := range results {
		r := &results[i]
		s := shownWorkload{Name: r.Workload, About: r.About}
		s.add("", r)
		s.finish()
		for _, g := range r.Goals {
			shown.Goals = append(shown.Goals, r.goalRow(g))
		}
		for _, subject := range r.Subjects {
			if row := fmt.Sprintf("| %s | %s |", subject.Name, subject.Build); subject.Build != "" && !slices.Contains(shown.Versions, row) {
				shown.Versions = append(shown.Versions, row)
			}
		}
		shown.Workloads = append(shown.Workloads, documented{r, s.markdown()})
	}
	var text bytes.Buffer
	if err := performance().Execute(&text, shown); err != nil {
		return nil, fmt.Errorf("write document: %w", err)
	}
	// the template's links are relative to its own folder
	files["performance.md"] = strings.ReplaceAll(text.String(), "](../../../docs/", "](")
	files["performance.json"], err = compact(results)
	return files, err
}

// compact encodes results with one result per line and without timelines, which the document does not show.
func compact(results []Result) (string, error) {
	var b strings.Builder
	for i, r := range results {
		r.Subjects = slices.Clone(r.Subjects)
		for k := range r.Subjects {
			s := &r.Subjects[k]
			s.Rounds = slices.Clone(s.Rounds)
			for n := range s.Rounds {
				s.Rounds[n].Timeline = nil
			}
		}
		text, err := json.Marshal(r)
		if err != nil {
			return "", fmt.Errorf("encode result: %w", err)
		}
		b.WriteString([]string{"[\n", ",\n"}[min(i, 1)])
		b.Write(text)
	}
	b.WriteString("\n]\n")
	return b.String(), nil
}

// sentence capitalises the first letter.
func sentence(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// documented is one section of the document.
type documented struct {
	*Result
	Table string
}

// headlines are the figures that the document shows. The other figures are only in the file of results.
var headlines = []string{
	"cpu_us", "cpu_tick_us", "cpu_join_us", "delivered_share", "ticks_share", "gap_p50_ms", "gap_p99_ms", "gap_p999_ms",
	"best_per_s", "half_p50_ms", "best_kib_per_player", "p50_ms", "p99_ms", "p999_ms",
	"joins_per_s", "join_p99_ms", "failed", "kib_per_connection",
}

// markdown returns the table of a workload with only the headlines.
func (s *shownWorkload) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n|%s\n", strings.Join(s.Columns, " | "), strings.Repeat(" --- |", len(s.Columns)+1))
	for _, row := range s.Rows {
		if !slices.Contains(headlines, row.figure) {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.TrimSpace(row.Label), strings.Join(row.Cells, " | "))
	}
	return b.String()
}

// goalRow returns one row of the table of goals.
func (r *Result) goalRow(v Verdict) string {
	state, rest, _ := strings.Cut(v.String(), "  ")
	what, got, _ := strings.Cut(strings.TrimSpace(rest), ": ")
	return fmt.Sprintf("| %s | %s | %s | %s |", r.Workload, what, strings.ToLower(state), got)
}
