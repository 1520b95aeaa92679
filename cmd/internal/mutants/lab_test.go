package mutants

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
	"testing"
	"time"
)

// testMax is how long one test may run before it counts as failed.
const testMax = 3 * time.Minute

var (
	try    = flag.Bool("try", false, "try the bugs")
	only   = flag.String("only", "", "regular expression for the names of the bugs to try; empty is all")
	output = flag.Bool("output", false, "show what the tests print")
)

// TestEachBugIsFound tries the deliberate bugs (make mutants).
//
// It does not modify the source tree: the compiler gets the changed file as an overlay. Each test first runs without
// the change, so that a test that always fails does not count. Tests run with -short, as in make test. If they do not
// detect the bug, they run again without -short. The result is one line per bug:
//
//	caught     the test fails with -short: make test detects the bug
//	full only  the test fails without -short: make test-full detects the bug
//	SURVIVED   the test passes: a test is missing
//	STALE      the source has changed, and the bug no longer applies
//	BROKEN     the test does not compile, does not exist, or fails without the bug
//
// The test fails unless all bugs are caught.
func TestEachBugIsFound(t *testing.T) {
	if !*try {
		return // return instead of Skip, so that the test is not counted as skipped without the flag
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(module)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{root: root, dir: t.TempDir(), clean: make(map[run]error)}
	tried, short, full := 0, 0, 0
	for i := range mutants {
		m := &mutants[i]
		if !chosen.MatchString(m.name) {
			continue
		}
		begun := time.Now()
		verdict, err := l.try(m)
		tried++
		switch verdict {
		case inShort:
			short++
		case inFull:
			full++
		}
		fmt.Printf("%-9s %-6s %-58s %s %s (%.1f s)\n", verdict, m.promise, m.name, m.pkg, m.run, time.Since(begun).Seconds())
		if err != nil {
			fmt.Printf("          %v\n", err)
		}
	}
	fmt.Printf("%d of %d bugs were caught by tests with -short, %d more without it\n", short, tried, full)
	if tried == 0 || short+full < tried {
		t.Errorf("%d bugs were tried, and %d caught", tried, short+full)
	}
}

// lab builds and runs tests.
type lab struct {
	root, dir string        // the module, and a folder for build output
	clean     map[run]error // result of each test without a bug
}

// errRed means that the test has failed.
var errRed = errors.New("the test fails")

// try returns the verdict on one bug.
func (l *lab) try(m *mutant) (verdict string, err error) {
	changed, err := m.apply(l.root)
	if err != nil {
		return "STALE", err
	}
	overlay, err := l.overlay(m, changed)
	if err != nil {
		return "BROKEN", err
	}
	for _, r := range []run{{m.pkg, m.run, m.tags, true}, {m.pkg, m.run, m.tags, false}} {
		if _, known := l.clean[r]; !known {
			l.clean[r] = l.test(r, "")
		}
		if err := l.clean[r]; err != nil {
			return "BROKEN", fmt.Errorf("without the bug: %w", err)
		}
		switch err := l.test(r, overlay); {
		case errors.Is(err, errRed) && r.short:
			return inShort, nil
		case errors.Is(err, errRed):
			return inFull, nil
		case err != nil:
			return "BROKEN", err
		}
	}
	return "SURVIVED", nil
}

// run identifies a test and how to run it.
type run struct {
	pkg, name, tags string
	short           bool
}

// Verdicts on a detected bug.
const (
	inShort = "caught"
	inFull  = "full only"
)

// overlay writes the file that tells the compiler about the changed source file. It returns the path.
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

// test builds and runs a test. The error is errRed if the test fails.
func (l *lab) test(r run, overlay string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*testMax)
	defer cancel()
	binary := filepath.Join(l.dir, "mutant.test")
	build := []string{"test", "-c", "-vet=off", "-o", binary}
	if r.tags != "" {
		build = append(build, "-tags", r.tags)
	}
	if overlay != "" {
		build = append(build, "-overlay", overlay)
	}
	if out, err := l.command(ctx, l.root, "go", append(build, r.pkg)...); err != nil {
		return fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	out, err := l.command(ctx, filepath.Join(l.root, r.pkg), binary, "-test.run", r.name, "-test.v", "-test.timeout", testMax.String(), fmt.Sprintf("-test.short=%t", r.short))
	if *output {
		fmt.Printf("%s\n", out)
	}
	var red *exec.ExitError
	switch {
	case !bytes.Contains(out, []byte("=== RUN")):
		return fmt.Errorf("no test of %s is called %s", r.pkg, r.name)
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
