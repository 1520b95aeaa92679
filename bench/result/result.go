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

// Format is the version of the file format. ReadFile rejects other versions.
const Format = 1

// Result is one run of one workload, as it is stored.
type Result struct {
	Format   int       `json:"format"`
	Workload string    `json:"workload"`
	About    string    `json:"about"`
	Load     string    `json:"load"` // rooms, players, rates and times, in words
	Started  time.Time `json:"started"`
	Command  string    `json:"command"`
	Machine  Machine   `json:"machine"`
	Rounds   int       `json:"rounds"`
	Subjects []Subject `json:"subjects"` // in the order of the table; the others are compared with the first
	Goals    []Verdict `json:"goals,omitempty"`
	Warnings []string  `json:"warnings,omitempty"` // what makes the figures doubtful
	// "NAME: why" for subjects with invalid figures; a text without a name applies to all subjects
	Void   []string `json:"void,omitempty"`
	Absent []string `json:"absent,omitempty"` // "NAME: why" for subjects that could not be measured
}

// Subject is one of the compared servers or configurations, over all rounds.
type Subject struct {
	Name    string            `json:"name"`
	Build   string            `json:"build,omitempty"`
	Figures map[string]Spread `json:"figures"` // by name in Catalogue; unknown figures are absent
	Rounds  []Round           `json:"rounds"`
}

// Round is one measurement of one subject.
type Round struct {
	Figures  Figures  `json:"figures"`
	Latency  []Point  `json:"latency_cdf,omitempty"`
	Timeline []Moment `json:"timeline,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`
	Others   float64  `json:"others,omitempty"` // share of the machine used by neither server nor generator
}

// Figures maps names in Catalogue to values. Unknown figures are absent.
type Figures map[string]float64

// Set stores a value, unless it is NaN (unknown) or infinite.
func (f Figures) Set(name string, value float64) {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		f[name] = value
	}
}

// Point is one point of a cumulative distribution: Share of all messages took at most Ms milliseconds.
type Point struct {
	Ms    float64 `json:"ms"`
	Share float64 `json:"share"`
}

// Moment is one interval of the measured part.
type Moment struct {
	At        float64 `json:"at_s"` // end of the interval in seconds since the start of the measured part
	PerSecond float64 `json:"per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

// Step is one load of a ramp.
type Step struct {
	Offered   float64 `json:"offered_per_s"` // expected deliveries per second if all messages arrive
	Delivered float64 `json:"delivered_per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	CPUMicros float64 `json:"cpu_us"`
	MiB       float64 `json:"resident_mib"`
	Good      bool    `json:"good"`             // within the limit of the ramp
	Others    float64 `json:"others,omitempty"` // as in Round
}

// Summarise computes the figures of all subjects and judges the goals.
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

// values returns a figure of all rounds, or nil if a round lacks it.
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

// Subject returns the subject with a name, or nil.
func (r *Result) Subject(name string) *Subject {
	if i := slices.IndexFunc(r.Subjects, func(s Subject) bool { return s.Name == name }); i >= 0 {
		return &r.Subjects[i]
	}
	return nil
}

// proves reports whether the figures of a subject are valid. A reason in Void that names no subject applies to all of
// them.
func (r *Result) proves(subject string) bool {
	return !slices.ContainsFunc(r.Void, func(text string) bool {
		of := func(s Subject) bool { return strings.HasPrefix(text, s.Name+": ") }
		return of(Subject{Name: subject}) || !slices.ContainsFunc(r.Subjects, of)
	})
}

// withhold replaces the verdicts that depend on invalid figures. Files written by older versions contain such verdicts.
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

// Unproven reports whether a goal could not be judged because of invalid figures, or whether no subject has valid
// figures.
func (r *Result) Unproven() bool {
	return slices.ContainsFunc(r.Goals, func(v Verdict) bool { return v.Unproven }) ||
		!slices.ContainsFunc(r.Subjects, func(s Subject) bool { return r.proves(s.Name) })
}

// Missed reports whether a goal was measured and does not hold.
func (r *Result) Missed() bool {
	return slices.ContainsFunc(r.Goals, func(v Verdict) bool { return v.Measured && !v.Holds })
}

// WriteFile stores the results of one command.
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

// fileBytesMax bounds the size of a file that ReadFile reads.
const fileBytesMax = 64 << 20

// ReadFile reads a file that WriteFile has written.
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
