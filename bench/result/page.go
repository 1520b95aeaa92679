package result

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"troupe/bench/page"
)

//go:embed page/body.html
var pageBody string

//go:embed page/page.js
var pageScript string

var report = page.New(pageBody, pageScript)

// Set holds the results of one file. Name distinguishes several files. It may be empty if there is only one.
type Set struct {
	Name    string
	Results []Result
}

// WritePage writes an HTML page with tables, goals and plots. The page needs no other files and no network. A workload
// that is in several sets is shown side by side.
func WritePage(w io.Writer, title string, sets []Set) error {
	shown := struct {
		Title     string
		Workloads []*shownWorkload
	}{title, sideBySide(sets)}
	var data []plotted
	for _, s := range shown.Workloads {
		data = append(data, plotted{Name: s.Name, Subjects: s.subjects})
	}
	return report.Write(w, title, shown, data)
}

// sideBySide groups the results by workload.
func sideBySide(sets []Set) (all []*shownWorkload) {
	by := map[string]*shownWorkload{}
	for _, set := range sets {
		for i := range set.Results {
			r := &set.Results[i]
			s := by[r.Workload]
			if s == nil {
				s = &shownWorkload{Name: r.Workload, About: r.About}
				by[s.Name] = s
				all = append(all, s)
			}
			s.add(set.Name, r)
		}
	}
	for _, s := range all {
		s.finish()
	}
	return all
}

// plotted is the data for the script of the page.
type plotted struct {
	Name     string    `json:"name"`
	Subjects []Subject `json:"subjects"`
}

// shownWorkload is one section of the page.
type shownWorkload struct {
	Name, About string
	Runs        []shownRun
	Warnings    []string // reasons why the sets are hard to compare
	Columns     []string
	Rows        []shownRow
	Bars        []shownBars
	subjects    []Subject
}

type shownRun struct {
	*Result
	File   string
	Rounds string
	Goals  []shownGoal
}

type shownGoal struct{ Class, State, Rest string }

type shownRow struct {
	figure string // name in the Catalogue
	Label  string
	Cells  []string
}

// shownBars are the bars of one figure. Parts are percentages of the longest bar.
type shownBars struct {
	Label string
	Bars  []shownBar
}

type shownBar struct {
	Name, Text string
	Parts      []float64
}

func (s *shownWorkload) add(file string, r *Result) {
	run := shownRun{Result: r, File: file, Rounds: r.rounds()}
	for _, v := range r.Goals {
		state, rest, _ := strings.Cut(v.String(), "  ")
		run.Goals = append(run.Goals, shownGoal{strings.ToLower(strings.ReplaceAll(state, " ", "-")), strings.ToLower(state), strings.TrimSpace(rest)})
	}
	s.Runs = append(s.Runs, run)
	for _, subject := range r.Subjects {
		if file != "" {
			subject.Name = file + ": " + subject.Name
		}
		s.subjects = append(s.subjects, subject)
	}
}

// finish builds the table and the bars of all subjects, and adds a warning for sets that cannot be compared.
func (s *shownWorkload) finish() {
	first := s.Runs[0]
	for _, run := range s.Runs[1:] {
		if run.Load != first.Load {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s and %s have different loads: %s; %s", first.File, run.File, first.Load, run.Load))
		}
		if a, b := first.Machine, run.Machine; a.CPU != b.CPU || a.Cores != b.Cores {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s and %s are of different machines: compare the ratios of each, not the figures", first.File, run.File))
		}
	}
	all := Result{Subjects: s.subjects}
	for _, subject := range s.subjects {
		s.Columns = append(s.Columns, subject.Name)
	}
	for _, f := range Catalogue {
		row, known := all.row(f)
		if !known {
			continue
		}
		cells := strings.Split(row, "\t")
		s.Rows = append(s.Rows, shownRow{f.Name, cells[0], cells[1:]})
	}
	s.bars("CPU per delivered message, us: user and system", "cpu_us", "cpu_user_us", "cpu_system_us")
	s.bars("CPU per inbound message, us", "cpu_inbound_us", "cpu_inbound_us")
	s.bars("Largest load inside the limit, deliveries per s", "best_per_s", "best_per_s")
	s.bars("Memory per connection, KiB", "kib_per_connection", "kib_per_connection")
	s.bars("Joins per s", "joins_per_s", "joins_per_s")
	s.bars("CPU per call, us", "cpu_call_us", "cpu_call_us")
	s.bars("Memory per game session, KiB", "kib_per_session", "kib_per_session")
	s.bars("Time to reconnect p99, ms", "back_p99_ms", "back_p99_ms")
}

func (s *shownWorkload) bars(label, total string, parts ...string) {
	longest, known := 0.0, 0
	for _, subject := range s.subjects {
		if v, ok := subject.Figures[total]; ok {
			longest, known = max(longest, v.Median), known+1
		}
	}
	if known == 0 || longest <= 0 {
		return
	}
	b := shownBars{Label: label}
	for _, subject := range s.subjects {
		v, ok := subject.Figures[total]
		if !ok {
			continue
		}
		bar := shownBar{Name: subject.Name, Text: v.Format(figureOf(total).Digits)}
		for _, part := range parts {
			bar.Parts = append(bar.Parts, max(100*subject.Figures[part].Median/longest, 0))
		}
		b.Bars = append(b.Bars, bar)
	}
	s.Bars = append(s.Bars, b)
}
