package ops_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"troupe/messages/counters"
)

var update = flag.Bool("update", false, "write testdata/metrics.txt anew, after a metric was added")

// Names, help texts, kinds and labels of metrics are what dashboards and alerts stand on: a
// change must be one of testdata/metrics.txt, too, and then of the changelog.
func TestMetricsAreThoseOfTheList(t *testing.T) {
	_, pages := newPages(t, new(counters.Set))
	var w *httptest.ResponseRecorder
	for range 10 { // the registry of a busy machine may not answer in time, and is left out
		w = httptest.NewRecorder()
		pages.Mux(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if strings.Contains(w.Body.String(), "troupe_mailbox_depth{") {
			break
		}
		_, pages = newPages(t, new(counters.Set)) // the other keeps what it gathered for a second
	}
	var got strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		series, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "# ") && strings.Contains(line, " troupe_") {
			got.WriteString(line)
		} else if strings.HasPrefix(series, "troupe_") {
			got.WriteString(series + "\n")
		}
	}
	const name = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	has, had := lines(got.String()), lines(string(want))
	for line := range has {
		if !had[line] {
			t.Errorf("not in the list: %s", line)
		}
	}
	for line := range had {
		if !has[line] {
			t.Errorf("not there any more: %s", line)
		}
	}
}

func lines(text string) map[string]bool {
	set := make(map[string]bool)
	for line := range strings.Lines(text) {
		set[strings.TrimSpace(line)] = true
	}
	return set
}

var (
	helpText = regexp.MustCompile(`(?m)^# HELP (troupe_\w+) (.*)$`)
	// sentence is a whole sentence. pointer is a word that points at another text.
	sentence = regexp.MustCompile(`\A(1|[A-Z]).* .*[^.]\.\z`)
	pointer  = regexp.MustCompile(`\b(those|by them|they came in|such a)\b|\AThe same`)
)

// A dashboard shows one help text at a time: it must be clear without those of other metrics.
func TestHelpTextsStandAlone(t *testing.T) {
	list, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	texts := helpText.FindAllStringSubmatch(string(list), -1)
	if len(texts) < 50 {
		t.Errorf("only %d help texts", len(texts))
	}
	for _, m := range texts {
		if !sentence.MatchString(m[2]) || pointer.MatchString(m[2]) {
			t.Errorf("%s: %q needs another text to be understood", m[1], m[2])
		}
	}
}
