package result

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/bench/page/pagetest"
)

// plottable returns a result that contains everything that the page draws.
func plottable(name string) Result {
	r := of("cpu_us", []float64{1, 2}, []float64{2, 3})
	r.Workload = name
	for i := range r.Subjects {
		s := &r.Subjects[i]
		for k := range s.Rounds {
			round := &s.Rounds[k]
			round.Figures.Set("kib_per_connection", 7.5)
			for n := range 40 {
				at := float64(n)
				round.Latency = append(round.Latency, Point{Ms: 0.1 + at*float64(i+1), Share: at / 40})
				round.Timeline = append(round.Timeline, Moment{At: at / 2, PerSecond: 1000 + at, P50: 1, P99: 2 + at})
				round.Steps = append(round.Steps, Step{Offered: 1000 * at, Delivered: 990 * at, P99: 1 + at*at})
			}
			round.Latency = append(round.Latency, Point{Ms: 100, Share: 1})
		}
	}
	r.Warnings, r.Void = []string{"<b>others</b>"}, []string{"bare: late"}
	r.Summarise([]Goal{{Subject: "troupe", Figure: "cpu_us", Plus: 1.1}, {Subject: "troupe", Figure: "cpu_us", Over: "bare", Times: 2}, {Subject: "x", Figure: "cpu_us"}})
	return *r
}

// withoutLatency returns a result without latencies, as for players whose answers contain no send times.
func withoutLatency(name string) Result {
	r := plottable(name)
	for _, s := range r.Subjects {
		for k := range s.Rounds {
			s.Rounds[k].Latency, s.Rounds[k].Steps = nil, nil
			for n := range s.Rounds[k].Timeline {
				s.Rounds[k].Timeline[n].P50, s.Rounds[k].Timeline[n].P99 = 0, 0
			}
		}
	}
	return r
}

func writeTestPage(t *testing.T) (path, text string) {
	t.Helper()
	var out bytes.Buffer
	if err := WritePage(&out, "A </script> test", []Set{
		{Name: "old", Results: []Result{plottable("relay"), plottable("only-here")}},
		{Name: "new", Results: []Result{plottable("relay"), withoutLatency("own")}},
	}); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, out.String()
}

// The page works without a network and shows two files side by side.
func TestPage(t *testing.T) {
	t.Parallel()
	_, text := writeTestPage(t)
	for _, want := range []string{"old: bare", "new: troupe", `id="cdf-1"`, "&lt;b&gt;others&lt;/b&gt;", "These figures prove nothing", "uPlot=function", `class="missed"`, `class="not-measured"`, "2 times bare: the figures of bare prove nothing", "Memory per connection, KiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, bad := range append(slices.Clone(pagetest.Bad), "A </script> test") {
		if strings.Contains(text, bad) {
			t.Errorf("%q in the page", bad)
		}
	}
}

// TestPageInABrowser lets a browser draw the plots. It needs Chromium.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	path, _ := writeTestPage(t)
	// distribution, time, rate and ramp for two workloads; only the rate for the third, which has no latency
	pagetest.Opens(t, path, 2*4+1)
}

// Two files are printed side by side, with warnings about what makes them hard to compare.
func TestPrintSets(t *testing.T) {
	t.Parallel()
	old, now := plottable("relay"), plottable("relay")
	var out bytes.Buffer
	PrintSets(&out, []Set{{"old", []Result{old}}, {"new", []Result{now}}})
	if text := out.String(); !strings.Contains(text, "old: bare") || !strings.Contains(text, "new: troupe") || strings.Contains(text, "warning:") {
		t.Error(text)
	}
	now.Load, now.Machine.Cores = "1 room", old.Machine.Cores+1
	out.Reset()
	PrintSets(&out, []Set{{"old", []Result{old}}, {"new", []Result{now}}})
	for _, want := range []string{"warning: old and new have different loads: ", "warning: old and new are of different machines", "PROVES NOTHING: old: bare: "} {
		if text := out.String(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
