package main

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The table must fit the source: each text to replace occurs once, the file with the bug parses, and the
// test that must find it exists. That they do find it is checked by make mutants.
func TestEachBugHasAPlaceAndATest(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	spec, err := os.ReadFile(filepath.Join(root, "docs", "spec", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for i := range mutants {
		m := &mutants[i]
		changed, err := m.apply(root)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, changed, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if names[m.name] {
			t.Errorf("two bugs are called %s", m.name)
		}
		names[m.name] = true
		if !strings.Contains(string(spec), "| "+m.promise+" |") {
			t.Errorf("%s: there is no promise %s", m.name, m.promise)
		}
		if !hasTest(t, filepath.Join(root, m.pkg), m.run) {
			t.Errorf("%s: no test of %s matches %s", m.name, m.pkg, m.run)
		}
	}
	if len(mutants) < 20 {
		t.Errorf("only %d bugs", len(mutants))
	}
	// Each threat of section 6 has a bug that takes a defence away; that of old dependencies is in go.mod, not in the source.
	_, threats, _ := strings.Cut(string(spec), "\n## 6. ")
	threats, _, _ = strings.Cut(threats, "\n## 7. ")
	for _, row := range regexp.MustCompile(`(?m)^\| (RL-\d+) \|`).FindAllStringSubmatch(threats, -1) {
		if row[1] != "RL-215" && !slices.ContainsFunc(mutants, func(m mutant) bool { return m.promise == row[1] }) {
			t.Errorf("no bug takes a defence of %s away", row[1])
		}
	}
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func hasTest(t *testing.T, dir, run string) bool {
	t.Helper()
	name := regexp.MustCompile(strings.SplitN(run, "/", 2)[0])
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range testFunc.FindAllSubmatch(b, -1) {
			if name.Match(f[1]) {
				return true
			}
		}
	}
	return false
}

func TestATextThatOccursTwiceOrNeverIsStale(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("one two two"), 0o600); err != nil {
		t.Fatal(err)
	}
	for old, ok := range map[string]bool{"one": true, "two": false, "three": false} {
		m := mutant{file: "a.go", changes: []change{{old, "x"}}}
		if b, err := m.apply(dir); ok != (err == nil) || !ok && !errors.Is(err, errStale) || ok && string(b) != "x two two" {
			t.Errorf("%s: %q, %v", old, b, err)
		}
	}
}
