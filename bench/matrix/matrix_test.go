package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"troupe/bench/faults"
)

// The table has each fault of the specification once and in order, its scenarios, plans and tests exist, and what has none says why.
func TestTheMatrixIsThatOfTheSpecification(t *testing.T) {
	root := filepath.Join("..", "..")
	spec, err := os.ReadFile(filepath.Join(root, "docs", "spec", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\| (RL-1\d\d) \|`).FindAllStringSubmatch(string(spec), -1) {
		want = append(want, m[1])
	}
	for _, r := range rows {
		got = append(got, r.id)
		if len(r.plays)+len(r.tests)+len(r.storms) == 0 && r.untried == "" {
			t.Errorf("%s: nothing is tried, and nobody says why", r.id)
		}
		for _, p := range r.plays {
			plan, err := faults.Find(p.scenario)
			if err != nil {
				t.Errorf("%s: %v", r.id, err)
			} else if events := plan.Expand(1, 8); len(events) == 0 {
				t.Errorf("%s: %s has no fault", r.id, p.scenario)
			}
		}
		for _, x := range r.tests {
			hasTests(t, filepath.Join(root, x.pkg), x.run)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

func hasTests(t *testing.T, dir string, names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, name := range names {
		if !strings.Contains(all.String(), "\nfunc "+name+"(") {
			t.Errorf("%s has no %s", dir, name)
		}
	}
}

// What does not hold is told with its cause, and the table has what was not tried.
func TestTheTableTellsWhatDoesNotHold(t *testing.T) {
	m := &matrix{options: options{only: regexp.MustCompile("RL-1(05|18)")}, lines: map[any]*line{}}
	for i := range rows {
		for j := range rows[i].plays {
			m.lines[&rows[i].plays[j]] = &line{what: "delay", figures: []string{"12"}, bad: "2 connections were lost"}
		}
		for j := range rows[i].tests {
			m.lines[&rows[i].tests[j]] = &line{what: "kcp"}
		}
	}
	var out strings.Builder
	if m.print(&out) {
		t.Error("it holds")
	}
	for _, want := range []string{`(?m)^RL-105 .*delay 200`, `(?m)^ +BROKEN +delay +12`, `(?m)^ +holds +1 tests`, `(?m)^RL-1.8 +not tried +cluster`, `(?m)^RL-105 BROKEN, delay: 2 connections`, `(?m)^RL-1.8 not tried: there is no cluster`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "RL-101") {
		t.Errorf("more rows than were asked for:\n%s", out.String())
	}
}

func TestEventsOfTests(t *testing.T) {
	passed, said := readEvents([]byte(`{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestB","Output":"    a_test.go:7: it is red\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"fail","Test":"TestB"}
`))
	if !passed["TestA"] || passed["TestB"] || !slices.Equal(said, []string{"a_test.go:7: it is red"}) {
		t.Errorf("%v, %v", passed, said)
	}
}
