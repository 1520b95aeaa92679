package matchmaking

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/bench/page/pagetest"
)

func TestPageInABrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	r := Report{RuleSet: "duel <b>", Tickets: 3, Matched: 2, Matches: 1, MadeUp: []string{"mode <i>=a|b|c"}, Distribution: []float64{1, 2}, Stages: []Stage{{0, []string{}, 1}}, Unmatched: []Reason{{"rule Near", 1}},
		Quality: []Quality{{Rule: "Near <i>", Matches: 1, Known: true, Values: []float64{4, 6}}, {Rule: "Mode", Matches: 1}}}
	if err := r.Page(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range append(pagetest.Bad, "duel <b>", "Near <i>", "mode <i>") {
		if strings.Contains(string(text), bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	pagetest.Opens(t, file, 2)
}
