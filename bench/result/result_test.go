package result

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   []float64
		want Spread
		text string
	}{
		"none": {nil, Spread{}, "0.0"},
		"one":  {[]float64{2}, Spread{2, 2, 2}, "2.0"},
		"odd":  {[]float64{3, 1, 2}, Spread{2, 1, 3}, "2.0 (1.0..3.0)"},
		"even": {[]float64{4, 1, 2, 3}, Spread{2.5, 1, 4}, "2.5 (1.0..4.0)"},
	} {
		if got := SpreadOf(c.in); got != c.want || got.Format(1) != c.text {
			t.Errorf("%s: %+v, %s, want %+v", name, got, got.Format(1), c.want)
		}
	}
}

// rounds returns rounds with the values of one figure, one value per round.
func rounds(figure string, values ...float64) (all []Round) {
	for _, v := range values {
		f := Figures{}
		f.Set(figure, v)
		all = append(all, Round{Figures: f})
	}
	return all
}

func of(figure string, bare, troupe []float64) *Result {
	return &Result{
		Format: Format, Workload: "relay", About: "a test", Rounds: len(bare), Started: time.Unix(0, 0).UTC(),
		Subjects: []Subject{{Name: "bare", Rounds: rounds(figure, bare...)}, {Name: "troupe", Rounds: rounds(figure, troupe...)}},
	}
}

// A goal is judged by the median of its rounds. A ratio is computed round by round, because a machine that is slower in
// one round is slower for both subjects.
func TestGoals(t *testing.T) {
	t.Parallel()
	nan := func() float64 { var zero float64; return zero / zero }()
	ratio := Goal{Subject: "troupe", Figure: "cpu_us", Over: "bare", Times: 1.25}
	for name, c := range map[string]struct {
		goal         Goal
		bare, troupe []float64
		want         string
	}{
		"a ratio holds":     {ratio, []float64{1, 10, 2}, []float64{1.2, 12, 4}, "holds         CPU per delivered message of troupe at most 1.25 times bare: 1.2 times, 4.0 % to spare"},
		"a ratio is missed": {ratio, []float64{1, 10, 2}, []float64{1.5, 15, 2}, "MISSED        CPU per delivered message of troupe at most 1.25 times bare: 1.5 times, by 20.0 %"},
		"plus another": {Goal{Subject: "troupe", Figure: "best_kib_per_player", Over: "bare", Times: 2, Plus: 24}, []float64{10, 10}, []float64{43, 45},
			"holds         memory per player there of troupe at most 2 times bare plus 24 KiB: 44 KiB, 0.0 % to spare"},
		"at least": {Goal{Subject: "troupe", Figure: "joins_per_s", Plus: 8000, AtLeast: true}, []float64{1}, []float64{4000},
			"MISSED        joins of troupe at least 8000 /s: 4000 /s, by 50.0 %"},
		"none of them":    {Goal{Subject: "troupe", Figure: "failed"}, []float64{0}, []float64{0}, "holds         failed of troupe at most 0: 0"},
		"some of them":    {Goal{Subject: "troupe", Figure: "failed"}, []float64{0}, []float64{2}, "MISSED        failed of troupe at most 0: 2"},
		"unknown":         {ratio, []float64{1, 1}, []float64{1, nan}, "not measured  CPU per delivered message of troupe at most 1.25 times bare: of troupe it is not known"},
		"unknown of bare": {ratio, []float64{1, nan}, []float64{1, 1}, "not measured  CPU per delivered message of troupe at most 1.25 times bare: of bare it is not known"},
		"a ratio to 0":    {ratio, []float64{0}, []float64{1}, "not measured  CPU per delivered message of troupe at most 1.25 times bare: of bare it is 0"},
		"nobody there":    {Goal{Subject: "colyseus", Figure: "cpu_us", Plus: 1}, []float64{1}, []float64{1}, "not measured  CPU per delivered message of colyseus at most 1 us: colyseus was not measured"},
		"only where it is so": {Goal{Subject: "troupe", Figure: "p99_ms", Plus: 1, Where: &Goal{Subject: "bare", Figure: "p99_ms", Plus: 1}}, []float64{5}, []float64{9},
			"not measured  latency p99 of troupe at most 1 ms: only where latency p99 of bare at most 1 ms, which it is not here (5 ms)"},
	} {
		figure := c.goal.Figure
		r := of(figure, c.bare, c.troupe)
		r.Summarise([]Goal{c.goal})
		if got := r.Goals[0].String(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
		if missed := strings.HasPrefix(c.want, "MISSED"); r.Missed() != missed {
			t.Errorf("%s: missed is %v", name, r.Missed())
		}
	}
}

// Invalid figures invalidate only the verdicts that depend on them. A peer that overloaded the generator does not
// invalidate the whole run.
func TestFiguresThatProveNothing(t *testing.T) {
	t.Parallel()
	over := func(other string) Goal { return Goal{Subject: "troupe", Figure: "cpu_us", Over: other, Times: 2} }
	where := Goal{Subject: "troupe", Figure: "cpu_us", Plus: 9, Where: &Goal{Subject: "bare", Figure: "cpu_us", Plus: 9}}
	alone := Goal{Subject: "troupe", Figure: "cpu_us", Plus: 9}
	missed := Goal{Subject: "troupe", Figure: "cpu_us", Plus: 1}
	for name, c := range map[string]struct {
		void             []string
		goals            []Goal
		want             string // a letter for each goal: holds, missed, not measured
		missed, unproven bool
	}{
		"all is well":                  {nil, []Goal{over("bare"), where, missed}, "hhm", true, false},
		"a peer that no goal is about": {[]string{"nano: late"}, []Goal{over("bare"), over("colyseus"), where}, "hhh", false, false},
		"a peer that one is about":     {[]string{"colyseus: late"}, []Goal{over("bare"), over("colyseus"), where, alone}, "hnhh", false, true},
		"the yardstick":                {[]string{"bare: late"}, []Goal{over("bare"), over("colyseus"), where, alone}, "nhnh", false, true},
		"the host":                     {[]string{"troupe: late"}, []Goal{over("bare"), where, missed}, "nnn", false, true},
		"one is missed anyway":         {[]string{"bare: late"}, []Goal{over("bare"), missed}, "nm", true, true},
		"of none in particular":        {[]string{"late"}, []Goal{over("bare"), missed}, "nn", false, true},
		"one of many without goals":    {[]string{"bare: late"}, nil, "", false, false},
		"all of them without goals":    {[]string{"bare: x", "troupe: x", "colyseus: x", "nano: x"}, nil, "", false, true},
		"a reason of no subject":       {[]string{"nano 2: late", "nano: late"}, []Goal{alone}, "n", false, true},
		"of one that was not measured": {nil, []Goal{over("x")}, "n", false, false},
	} {
		r := of("cpu_us", []float64{3}, []float64{4})
		r.Subjects = append(r.Subjects, Subject{Name: "colyseus", Rounds: rounds("cpu_us", 3)}, Subject{Name: "nano", Rounds: rounds("cpu_us", 3)})
		r.Void = c.void
		r.Summarise(c.goals)
		got := ""
		for _, v := range r.Goals {
			got += strings.ToLower(v.String()[:1])
		}
		if got != c.want || r.Missed() != c.missed || r.Unproven() != c.unproven {
			t.Errorf("%s: %s, missed %v, unproven %v, want %s, %v, %v", name, got, r.Missed(), r.Unproven(), c.want, c.missed, c.unproven)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	r := of("cpu_us", []float64{1, 2, 3}, []float64{2, 4, 3})
	r.Void = []string{"bare: late"}
	r.Summarise([]Goal{{Subject: "troupe", Figure: "cpu_us", Over: "bare", Times: 3}})
	var out bytes.Buffer
	r.Print(&out)
	for _, want := range []string{"relay: a test", "CPU per delivered message, us  2.00 (1.00..3.00)  3.00 (2.00..4.00) = 2.00x", "PROVES NOTHING: bare: late",
		"not measured  CPU per delivered message of troupe at most 3 times bare: the figures of bare prove nothing"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "joins") {
		t.Errorf("a row that nobody has:\n%s", &out)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r.json")
	r := of("cpu_us", []float64{1}, []float64{2})
	r.Summarise([]Goal{{Subject: "troupe", Figure: "cpu_us", Plus: 3}})
	if err := WriteFile(path, []Result{*r}); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if err != nil || len(got) != 1 || got[0].Subject("troupe").Figures["cpu_us"].Median != 2 || !got[0].Goals[0].Holds {
		t.Errorf("%+v, %v", got, err)
	}
	// An old file, written before verdicts took invalid figures into account.
	r.Void = []string{"troupe: late"}
	if err := WriteFile(path, []Result{*r}); err != nil {
		t.Fatal(err)
	}
	if got, err = ReadFile(path); err != nil || got[0].Goals[0].Measured || !got[0].Unproven() {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "{}", "[]", `[{"format":99,"workload":"x"}]`, `[{"format":1}]`} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "troupe bench") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
