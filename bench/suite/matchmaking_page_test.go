package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/bench/matchmaking"
	"troupe/bench/page/pagetest"
)

func TestMatchmakingPageInABrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	r := matchmaking.Report{RuleSet: "duel <b>", Tickets: 3, Matched: 2, Matches: 1, MadeUp: []string{"mode <i>=a|b|c"}, Distribution: []float64{1, 2}, Stages: []matchmaking.Stage{{Changes: []string{}, Matches: 1}}, Unmatched: []matchmaking.Reason{{Reason: "rule Near", Tickets: 1}},
		Quality: []matchmaking.Quality{{Rule: "Near <i>", Matches: 1, Known: true, Values: []float64{4, 6}}, {Rule: "Mode", Matches: 1}}}
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
