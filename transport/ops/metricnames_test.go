package ops_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

var update = flag.Bool("update", false, "write testdata/metrics.txt anew, after a metric was added")

// Dashboards and alerts depend on the names, help texts, kinds and labels of metrics. Every change must
// therefore be made in testdata/metrics.txt and in the changelog as well.
func TestMetricsAreThoseOfTheList(t *testing.T) { synctest.Test(t, metricsAreThoseOfTheList) }

func metricsAreThoseOfTheList(t *testing.T) {
	_, pages := newPages(t, counted())
	w := httptest.NewRecorder()
	pages.Mux(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
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

// counted has one value of each label whose values are not known beforehand.
func counted() *counters.Set {
	count := new(counters.Set)
	count.CountCall("OPERATION", time.Millisecond, "TYPE")
	count.PeerCalls.Add("METHOD", "OUTCOME", 1)
	return count
}

const documentName = "../../docs/operations/metrics.md"

// TestMetricsAreDocumented keeps the table of the operator's documents.
func TestMetricsAreDocumented(t *testing.T) {
	list, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := document(string(list))
	if *update {
		if err := os.WriteFile(documentName, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(documentName)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the metrics are: go test ./transport/ops -run TestMetrics -update", documentName)
	}
}

var series = regexp.MustCompile(`(\w+)="([^"]*)"`)

// document returns a table of metrics. For labels with few values, it lists the values.
func document(list string) string {
	type one struct {
		help, kind string
		labels     []string
		values     map[string][]string
	}
	var names []string
	all := make(map[string]*one)
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		f := strings.SplitN(line, " ", 4)
		switch {
		case f[0] == "#" && f[1] == "HELP":
			names = append(names, f[2])
			all[f[2]] = &one{help: f[3], values: make(map[string][]string)}
		case f[0] == "#":
			all[f[2]].kind = f[3]
		default:
			m := all[names[len(names)-1]]
			for _, label := range series.FindAllStringSubmatch(line, -1) {
				if name, value := label[1], label[2]; name != "le" {
					if m.values[name] == nil {
						m.labels = append(m.labels, name)
					}
					if !slices.Contains(m.values[name], value) {
						m.values[name] = append(m.values[name], value)
					}
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString(documentHead)
	for _, name := range names {
		m := all[name]
		labels := ""
		for i, label := range m.labels {
			if i > 0 {
				labels += "; "
			}
			labels += "`" + label + "`"
			if values := m.values[label]; len(values) <= 6 && !slices.Contains(openLabels, label) {
				labels += ": " + strings.Join(values, ", ")
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, m.kind, labels, m.help)
	}
	return b.String()
}

// openLabels are labels whose values the tests invent.
var openLabels = []string{"fleet", "location", "operation", "type", "version"}

const documentHead = `# Metrics

` + "`/metrics`" + ` has them in the format of Prometheus, gathered at most once a second. Those of the Go runtime (` + "`go_`" + `) and of the process
(` + "`process_`" + `) are there, too. Labels have few values: no player, game session or placement is one. A label of many values (reasons, operations) is
shown without them. This table is generated from the host's own answer.

| Metric | Kind | Labels | Meaning |
| --- | --- | --- | --- |
`

func lines(text string) map[string]bool {
	set := make(map[string]bool)
	for line := range strings.Lines(text) {
		set[strings.TrimSpace(line)] = true
	}
	return set
}

var (
	helpText = regexp.MustCompile(`(?m)^# HELP (troupe_\w+) (.*)$`)
	// sentence matches a complete sentence. pointer matches words that refer to another text.
	sentence = regexp.MustCompile(`\A(1|[A-Z]).* .*[^.]\.\z`)
	pointer  = regexp.MustCompile(`\b(those|by them|they came in|such a)\b|\AThe same`)
)

// A dashboard shows one help text at a time, so each must be understandable without the others.
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
