package faults

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each row of the specification has a plan, or is one that no plan can try; and no plan is for a row that is not there.
func TestTheMatrixIsThatOfTheSpecification(t *testing.T) {
	t.Parallel()
	spec, err := os.ReadFile("../../docs/spec/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	// Crashes of single actors, floods, failpoints, clocks, hostile traffic, and seeds. What is not built has no test.
	without := []string{"RL-110", "RL-112", "RL-113", "RL-117", "RL-122", "RL-124"}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\| (RL-1\d\d) \|.*$`).FindAllStringSubmatch(string(spec), -1) {
		if !slices.Contains(without, m[1]) && !strings.Contains(m[0], "No test: ") {
			want = append(want, m[1])
		}
	}
	for _, p := range Matrix() {
		got = append(got, p.Row)
	}
	if got = slices.Compact(got); len(want) < 15 || !slices.Equal(got, want) {
		t.Errorf("plans for %v, want %v", got, want)
	}
	for _, p := range read("plans/matrix") {
		if p.Row == "" {
			t.Errorf("%s has no row", p.Name)
		}
	}
}

// A figure that is missed breaks a promise, and one that is just reached does not.
func TestFiguresOfAPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan            Plan
		reached, missed Figures
	}{
		"delivered":      {Plan{Delivered: 100}, Figures{Delivered: 100}, Figures{Delivered: 99}},
		"fast share":     {Plan{FastShare: 0.62}, Figures{FastSent: 50, FastDelivered: 62}, Figures{FastSent: 50, FastDelivered: 61}},
		"back, p99":      {Plan{BackP99: Duration(time.Second)}, Figures{Resumes: 1, ReattachP99Ms: 1000}, Figures{Resumes: 1, ReattachP99Ms: 1001}},
		"nobody is cut":  {Plan{BackP99: Duration(time.Second)}, Figures{Resumes: 1}, Figures{}},
		"back, the last": {Plan{BackMax: Duration(time.Second)}, Figures{ReattachMaxMs: 1000}, Figures{Resumes: 1, ReattachMaxMs: 1001}},
		"uncut":          {Plan{Uncut: true}, Figures{}, Figures{Resumes: 1}},
	} {
		for figures, want := range map[*Figures]string{&c.reached: holds, &c.missed: broken} {
			if got := c.plan.judgeFigures(figures, 2); len(got) != 1 || got[0].Outcome != want {
				t.Errorf("%s: %+v, want %s", name, got, want)
			}
		}
	}
}

// What does not hold is told with its cause, and so is a run without a report.
func TestTheTableTellsWhatDoesNotHold(t *testing.T) {
	t.Parallel()
	lines := []line{
		{plan: Plan{Row: "RL-105", Name: "delay"}, report: &Report{Figures: Figures{Sent: 12, Resumes: 2}, Verdicts: []Verdict{judge("RL-105", "no player loses its connection", false, "2 did")}}},
		{plan: Plan{Row: "RL-107", Name: "nat-rebind"}, report: &Report{Verdicts: []Verdict{judge("RL-1", "in order", true, "all")}}},
	}
	var out strings.Builder
	if printMatrix(&out, lines) {
		t.Error("it holds")
	}
	for _, want := range []string{`(?m)^RL-105 +BROKEN +delay +12 +0 +0 +0 +2 `, `(?m)^RL-107 +holds +nat-rebind +0 `, `(?m)^RL-105 delay: no player loses its connection \(RL-105\): 2 did$`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if !printMatrix(&out, lines[1:]) || printMatrix(&out, []line{{why: "exit status 2: no tun"}}) || !strings.HasSuffix(out.String(), ": exit status 2: no tun\n") {
		t.Errorf("in the end\n%s", out.String())
	}
}
