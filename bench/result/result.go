package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// Format is the version of the file; a reader refuses another one.
const Format = 1

// Result is one run of one workload, as it is stored.
type Result struct {
	Format   int       `json:"format"`
	Workload string    `json:"workload"`
	About    string    `json:"about"`
	Load     string    `json:"load"` // in words: rooms, players, rates, times
	Started  time.Time `json:"started"`
	Command  string    `json:"command"`
	Machine  Machine   `json:"machine"`
	Rounds   int       `json:"rounds"`
	Subjects []Subject `json:"subjects"` // in the order of the table; the first is what others are compared with
	Goals    []Verdict `json:"goals,omitempty"`
	Warnings []string  `json:"warnings,omitempty"` // what makes figures doubtful
	Void     []string  `json:"void,omitempty"`     // "NAME: why", of those whose figures prove nothing; without a name, of all
	Absent   []string  `json:"absent,omitempty"`   // "NAME: why", of those that could not be measured
}

// Subject is one of the things compared, over all rounds.
type Subject struct {
	Name    string            `json:"name"`
	Build   string            `json:"build,omitempty"`
	Figures map[string]Spread `json:"figures"` // by the names of Catalogue; what is not known is absent
	Rounds  []Round           `json:"rounds"`
}

// Round is one measurement of one subject.
type Round struct {
	Figures  Figures  `json:"figures"`
	Latency  []Point  `json:"latency_cdf,omitempty"`
	Timeline []Moment `json:"timeline,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`
	Others   float64  `json:"others,omitempty"` // share of the machine that neither server nor generator used
}

// Figures are values by the names of Catalogue. What is not known is absent.
type Figures map[string]float64

// Set stores a value, unless it is not known (NaN) or infinite.
func (f Figures) Set(name string, value float64) {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		f[name] = value
	}
}

// Point is one of a cumulative distribution: so great a share of all is at most so late.
type Point struct {
	Ms    float64 `json:"ms"`
	Share float64 `json:"share"`
}

// Moment is a stretch of the measured part.
type Moment struct {
	At        float64 `json:"at_s"` // its end, from the start of the measured part
	PerSecond float64 `json:"per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

// Step is one load of a ramp.
type Step struct {
	Offered   float64 `json:"offered_per_s"` // deliveries, were all of them made
	Delivered float64 `json:"delivered_per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	CPUMicros float64 `json:"cpu_us"`
	MiB       float64 `json:"resident_mib"`
	Good      bool    `json:"good"`             // inside the limit of the ramp
	Others    float64 `json:"others,omitempty"` // as in Round
}

// Summarise fills in the figures of all subjects and judges the goals.
func (r *Result) Summarise(goals []Goal) {
	for i := range r.Subjects {
		s := &r.Subjects[i]
		s.Figures = make(map[string]Spread)
		for _, f := range Catalogue {
			if values := s.values(f.Name); len(values) > 0 {
				s.Figures[f.Name] = SpreadOf(values)
			}
		}
	}
	r.Goals = nil
	for _, g := range goals {
		r.Goals = append(r.Goals, g.judge(r))
	}
	r.withhold()
}

// values are those of all rounds; none if one of them does not know it.
func (s *Subject) values(figure string) (values []float64) {
	for _, round := range s.Rounds {
		v, ok := round.Figures[figure]
		if !ok {
			return nil
		}
		values = append(values, v)
	}
	return values
}

// Subject returns the one of a name, or nil.
func (r *Result) Subject(name string) *Subject {
	if i := slices.IndexFunc(r.Subjects, func(s Subject) bool { return s.Name == name }); i >= 0 {
		return &r.Subjects[i]
	}
	return nil
}

// proves reports whether the figures of a subject prove something. A reason that names none of the subjects is one of all.
func (r *Result) proves(subject string) bool {
	return !slices.ContainsFunc(r.Void, func(text string) bool {
		of := func(s Subject) bool { return strings.HasPrefix(text, s.Name+": ") }
		return of(Subject{Name: subject}) || !slices.ContainsFunc(r.Subjects, of)
	})
}

// withhold takes back the verdicts that rest on figures which prove nothing. Files of before have such verdicts.
func (r *Result) withhold() {
	if len(r.Void) == 0 {
		return
	}
	for i, v := range r.Goals {
		for goal := &v.Goal; goal != nil; goal = goal.Where {
			for _, name := range []string{goal.Subject, goal.Over} {
				if r.Subject(name) != nil && !r.proves(name) {
					r.Goals[i] = Unproven(v.Goal, "the figures of "+name+" prove nothing")
				}
			}
		}
	}
}

// Unproven reports whether a goal could not be judged because figures prove nothing, or whether those of no subject do.
func (r *Result) Unproven() bool {
	return slices.ContainsFunc(r.Goals, func(v Verdict) bool { return v.Unproven }) ||
		!slices.ContainsFunc(r.Subjects, func(s Subject) bool { return r.proves(s.Name) })
}

// Missed reports whether a goal that was measured does not hold.
func (r *Result) Missed() bool {
	return slices.ContainsFunc(r.Goals, func(v Verdict) bool { return v.Measured && !v.Holds })
}

// WriteFile stores results, one or several of one command.
func WriteFile(path string, results []Result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("store result: %w", err)
	}
	return nil
}

// fileBytesMax bounds a file that is read.
const fileBytesMax = 64 << 20

// ReadFile reads what WriteFile has stored.
func ReadFile(path string) ([]Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax))
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	var results []Result
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&results); err != nil {
		return nil, fmt.Errorf("%s holds no result of troupe bench: give a file that --json or --report has written", path)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("%s holds no result of troupe bench: give a file that --json or --report has written", path)
	}
	for _, r := range results {
		if r.Format != Format || r.Workload == "" {
			return nil, errors.New(path + " is a result of another version of troupe bench: measure again")
		}
	}
	for i := range results {
		results[i].withhold()
	}
	return results, nil
}
