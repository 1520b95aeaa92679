// Mutants checks the tests: it puts deliberate bugs into the source, one at a time, and runs the test
// that must find each of them. The bugs, the promises that they break and the tests are a table (mutants.go).
//
// The tree is not written: the compiler gets the changed file as an overlay. Each test runs without the
// change first, so that a test that fails anyway does not count. The result is a line per bug:
//
//	caught     the test is red
//	SURVIVED   the test is green: a test is missing
//	STALE      the source has changed, and the bug has no place in it any more
//	BROKEN     the test does not compile, does not exist, or is red without the bug
//
// It exits with 1 unless all are caught. -only REGEXP chooses bugs by name; -v shows what the tests print.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// testMax is how long one test may run before it counts as red.
const testMax = 3 * time.Minute

func main() {
	only := flag.String("only", "", "regular expression for the names of the bugs to try; empty is all")
	verbose := flag.Bool("v", false, "show what the tests print")
	flag.Parse()
	ok, err := run(*only, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// run tries the chosen bugs and reports whether each was caught.
func run(only string, verbose bool) (ok bool, err error) {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	root, err := moduleRoot()
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	l := &lab{root: root, dir: dir, clean: make(map[string]error), verbose: verbose}
	tried, caught := 0, 0
	for i := range mutants {
		m := &mutants[i]
		if !chosen.MatchString(m.name) {
			continue
		}
		begun := time.Now()
		verdict, err := l.try(m)
		tried++
		if verdict == "caught" {
			caught++
		}
		fmt.Printf("%-9s %-6s %-58s %s %s (%.1f s)\n", verdict, m.promise, m.name, m.pkg, m.run, time.Since(begun).Seconds())
		if err != nil {
			fmt.Printf("          %v\n", err)
		}
	}
	fmt.Printf("%d of %d bugs were caught\n", caught, tried)
	return tried > 0 && caught == tried, nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(out))), err
}

// lab runs tests.
type lab struct {
	root, dir string           // the module, and a folder for what is built
	clean     map[string]error // by package and test: how it ends without a bug
	verbose   bool
}

// errRed means that a test has failed.
var errRed = errors.New("the test fails")

// try returns the verdict on one bug.
func (l *lab) try(m *mutant) (verdict string, err error) {
	changed, err := m.apply(l.root)
	if err != nil {
		return "STALE", err
	}
	test := m.pkg + " " + m.run
	if _, known := l.clean[test]; !known {
		l.clean[test] = l.test(m, "")
	}
	if err := l.clean[test]; err != nil {
		return "BROKEN", fmt.Errorf("without the bug: %w", err)
	}
	overlay, err := l.overlay(m, changed)
	if err != nil {
		return "BROKEN", err
	}
	switch err := l.test(m, overlay); {
	case errors.Is(err, errRed):
		return "caught", nil
	case err != nil:
		return "BROKEN", err
	}
	return "SURVIVED", nil
}

// overlay writes the description of a changed file for the compiler.
func (l *lab) overlay(m *mutant, changed []byte) (path string, err error) {
	source := filepath.Join(l.dir, filepath.Base(m.file))
	if err := os.WriteFile(source, changed, 0o600); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(l.root, m.file): source}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(l.dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// test builds and runs the test of a bug. The error is errRed if the test fails.
func (l *lab) test(m *mutant, overlay string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*testMax)
	defer cancel()
	binary := filepath.Join(l.dir, "mutant.test")
	build := []string{"test", "-c", "-vet=off", "-o", binary}
	if m.tags != "" {
		build = append(build, "-tags", m.tags)
	}
	if overlay != "" {
		build = append(build, "-overlay", overlay)
	}
	if out, err := l.command(ctx, l.root, "go", append(build, m.pkg)...); err != nil {
		return fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	out, err := l.command(ctx, filepath.Join(l.root, m.pkg), binary, "-test.run", m.run, "-test.v", "-test.timeout", testMax.String())
	if l.verbose {
		fmt.Printf("%s\n", out)
	}
	var red *exec.ExitError
	switch {
	case !bytes.Contains(out, []byte("=== RUN")):
		return fmt.Errorf("no test of %s is called %s", m.pkg, m.run)
	case errors.As(err, &red):
		return errRed
	}
	return err
}

func (l *lab) command(ctx context.Context, dir, name string, args ...string) (out []byte, err error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.WaitDelay = 5 * time.Second
	return c.CombinedOutput()
}
