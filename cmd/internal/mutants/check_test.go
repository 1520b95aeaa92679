package mutants

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is the folder of the module.
var module = filepath.Join("..", "..", "..")

// The table of deliberate bugs fits the source. In a folder without sources, the check must fail.
func TestEachBugHasAPlaceAndATest(t *testing.T) {
	for _, err := range check(module) {
		t.Error(err)
	}
	if len(check(t.TempDir())) == 0 {
		t.Error("the check does not fail where there is no source")
	}
}

// check returns the mistakes in the table for the module at root. Each text to replace must occur once, the file with
// the bug must parse, and the test that must detect the bug must exist. For each threat in section 6 of
// docs/spec/reliability.md there must be a bug that removes a defence. TestEachBugIsFound checks whether the tests
// detect the bugs.
func check(root string) (wrong []error) {
	spec, err := os.ReadFile(filepath.Join(root, "docs", "spec", "reliability.md"))
	if err != nil {
		return []error{err}
	}
	cluster, err := os.ReadFile(filepath.Join(root, "docs", "spec", "cluster.md"))
	if err != nil {
		return []error{err}
	}
	names := make(map[string]bool)
	for i := range mutants {
		m := &mutants[i]
		changed, err := m.apply(root)
		if err == nil {
			_, err = parser.ParseFile(token.NewFileSet(), m.file, changed, parser.SkipObjectResolution)
		}
		switch {
		case err != nil:
		case names[m.name]:
			err = fmt.Errorf("two bugs have this name")
		case !strings.Contains(string(spec), "| "+m.promise+" |") && !strings.Contains(string(cluster), "- **"+m.promise+"** "):
			err = fmt.Errorf("there is no promise %s", m.promise)
		default:
			err = m.hasTest(root)
		}
		if names[m.name] = true; err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	_, threats, _ := strings.Cut(string(spec), "\n## 6. ")
	threats, _, _ = strings.Cut(threats, "\n## 7. ")
	for _, row := range regexp.MustCompile(`(?m)^\| (RL-\d+) \|`).FindAllStringSubmatch(threats, -1) {
		// RL-215 concerns old dependencies, which are in go.mod and not in the source.
		if row[1] != "RL-215" && !slices.ContainsFunc(mutants, func(m mutant) bool { return m.promise == row[1] }) {
			wrong = append(wrong, fmt.Errorf("no bug takes a defence of %s away", row[1]))
		}
	}
	return wrong
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// hasTest returns an error if the package does not have the test.
func (m *mutant) hasTest(root string) error {
	first, _, _ := strings.Cut(m.run, "/")
	name, err := regexp.Compile(first)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, m.pkg, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, f := range testFunc.FindAllSubmatch(text, -1) {
			if name.Match(f[1]) {
				return nil
			}
		}
	}
	return fmt.Errorf("no test of %s matches %s", m.pkg, m.run)
}
