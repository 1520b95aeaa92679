// Fuzz runs the fuzz targets of the module, packages beside each other: make fuzz all of them, guided by
// coverage, and .ci/run a part for a short time.
//
// The targets are found by reading the tests. Without -guided their binaries have no coverage
// instrumentation, which would build all dependencies once more; inputs are then mutations of the corpus.
// With -parts N, each day has one of N parts of the targets. An input that fails is written to the
// target's testdata, as by go test -fuzz, and the exit code is 1.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// buildMax is how long a build may take, or a target beside its fuzzing. The first build with -guided compiles
// all dependencies.
const buildMax = 20 * time.Minute

func main() {
	each := flag.Duration("time", 3*time.Second, "how long each target runs")
	parts := flag.Int("parts", 1, "run one of so many parts of the targets")
	guided := flag.Bool("guided", false, "build with coverage instrumentation, which guides the search for inputs")
	day := flag.Int("day", int(time.Now().Unix()/86400), "number of the day, which chooses the part")
	flag.Parse()
	if err := run(".", *each, *guided, max(*parts, 1), *day); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// target is one fuzz target.
type target struct{ dir, name string }

func run(root string, each time.Duration, guided bool, parts, day int) error {
	all, err := targets(root)
	if err != nil {
		return err
	}
	chosen := part(all, parts, day)
	dir, err := os.MkdirTemp("", "fuzz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cache := filepath.Join(dir, "cache")
	if guided { // what one run has found, the next one begins with
		out, err := command(root, buildMax, "go", "env", "GOCACHE")
		if err != nil {
			return fmt.Errorf("go env GOCACHE: %w", err)
		}
		cache = filepath.Join(strings.TrimSpace(string(out)), "fuzz", "troupe")
	}
	begun := time.Now()
	failed := 0
	var mu sync.Mutex
	var running sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for dirOf, list := range byDir(chosen) {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			binary := filepath.Join(dir, strings.ReplaceAll(dirOf, string(filepath.Separator), "_")+".test")
			build := []string{"test", "-c", "-vet=off", "-o", binary}
			if guided {
				build = append(build, "-fuzz=.")
			}
			unbuilt, err := command(root, buildMax, "go", append(build, "./"+filepath.ToSlash(dirOf))...)
			for _, t := range list {
				out, failure := unbuilt, err
				if err == nil {
					out, failure = command(filepath.Join(root, dirOf), each+buildMax, binary, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$",
						"-test.fuzztime", each.String(), "-test.fuzzminimizetime", "10x", "-test.parallel", "1", "-test.fuzzcachedir", filepath.Join(cache, dirOf))
				}
				if failure != nil && !onlyTimeEnded(out) {
					mu.Lock()
					failed++
					fmt.Printf("FAILED %s %s: %v\n%s", t.dir, t.name, failure, out)
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
	fmt.Printf("%d of %d fuzz targets, %v each: %d failed, %.0f s\n", len(chosen), len(all), each, failed, time.Since(begun).Seconds())
	if failed > 0 || len(chosen) == 0 {
		return fmt.Errorf("%d of %d targets failed", failed, len(chosen))
	}
	return nil
}

var timeEnded = regexp.MustCompile(`--- FAIL: Fuzz\w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL\n$`)

// onlyTimeEnded reports whether a target found nothing although it failed: package testing now and then
// takes the end of -fuzztime for a failure (golang.org/issue/75804). With a failing input, also one that was
// only about to be made smaller, it is a finding.
func onlyTimeEnded(out []byte) bool {
	return timeEnded.Match(out) && !bytes.Contains(bytes.ToLower(out), []byte("failing input"))
}

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// targets reads the tests below root.
func targets(root string) (all []target, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			all = append(all, target{dir, string(m[1])})
		}
		return err
	})
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.dir+" "+a.name, b.dir+" "+b.name) })
	return all, err
}

// part returns the targets of a day: whole packages, so that each is built on one day alone.
func part(all []target, parts, day int) (chosen []target) {
	n, last := -1, ""
	for _, t := range all {
		if t.dir != last {
			n, last = n+1, t.dir
		}
		if n%parts == day%parts {
			chosen = append(chosen, t)
		}
	}
	return chosen
}

func byDir(list []target) map[string][]target {
	dirs := make(map[string][]target)
	for _, t := range list {
		dirs[t.dir] = append(dirs[t.dir], t)
	}
	return dirs
}

func command(dir string, most time.Duration, name string, args ...string) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.WaitDelay = 5 * time.Second
	return c.CombinedOutput()
}
