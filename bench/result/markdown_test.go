package result

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// docs/performance.md must be the output of the command for docs/performance.json. If this fails, run:
// bin/troupe bench report docs/performance.json --markdown docs
func TestCommittedDocument(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	results, err := ReadFile(filepath.Join(docs, "performance.json"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := Document(results)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(docs, name)); err != nil || string(got) != want {
			t.Errorf("docs/%s is not what docs/performance.json gives (%v)", name, err)
		}
	}
}

// void returns the result with the figures of bare marked as invalid.
func void(r Result) Result {
	r.Void, r.Goals = []string{"bare: too late"}, slices.Clone(r.Goals)
	r.withhold()
	return r
}

// The document lists what was measured, what was not measured, and why.
func TestDocument(t *testing.T) {
	t.Parallel()
	round := func(best, p99 float64) Round {
		return Round{
			Figures: Figures{"best_per_s": best, "p99_ms": p99, "cpu_us": 2},
			Latency: []Point{{1, 0.5}, {p99, 0.99}, {p99 * 2, 1}},
			Steps:   []Step{{Delivered: best, P99: p99, Good: true}, {Delivered: best / 2, P99: 1, Good: true}, {Delivered: best * 2}},
		}
	}
	r := Result{
		Workload: "ramp", About: "a load", Rounds: 3, Absent: []string{"nano: there is no <go>"}, Warnings: []string{"busy"},
		Subjects: []Subject{
			{Name: "bare", Build: "v1", Rounds: []Round{round(100, 4), round(300, 9), round(200, 5)}},
			{Name: "a & b", Rounds: []Round{round(400, 5), round(400, 5), round(400, 5)}},
		},
	}
	r.Summarise([]Goal{{Subject: "a & b", Figure: "best_per_s", Over: "bare", Times: 1.2, AtLeast: true}})
	other := Result{Workload: "idle", About: "nothing to plot", Subjects: []Subject{{Name: "bare", Rounds: []Round{{Figures: Figures{"joins_per_s": 0}}}}}}
	other.Summarise(nil)
	files, err := Document([]Result{r, other})
	if err != nil {
		t.Fatal(err)
	}
	text := files["performance.md"]
	for _, want := range []string{
		"Not measured: nano: there is no <go>\n", "- busy\n", "| bare | v1 |\n",
		"| largest load inside the limit, /s | 200 (100..300) | 400 = 2.00x |\n",
		"| ramp | largest load inside the limit of a & b at least 1.2 times bare | holds | 2 times, 66.7 % to spare |\n",
		"\n## idle\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if files, err := Document([]Result{void(r)}); err != nil || !strings.Contains(files["performance.md"], "1.2 times bare | not measured | the figures of bare prove nothing |") ||
		!strings.Contains(files["performance.md"], "\n**These figures prove nothing:** bare: too late.\n") {
		t.Errorf("a goal is judged by figures that prove nothing:\n%s, %v", files["performance.md"], err)
	}
}
