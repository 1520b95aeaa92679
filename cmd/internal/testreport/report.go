package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// event is one line of go test -json (go doc test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // s
}

// test is a test, or with an empty name what a package says outside of its tests.
type test struct{ pkg, name string }

// cpuPrefix begins what -exec prints about a test binary.
const cpuPrefix = "testreport: CPU "

// cost is what a package took, in s. Packages that are tested twice, such as with the race detector, count twice.
type cost struct {
	pkg       string
	cpu, wall float64
}

// slowMax is how many of the slowest tests are listed.
const slowMax = 20

// namesMax is how many tests are named that were skipped for the same reason.
const namesMax = 4

// report copies what failed and one line for each package to out, as they end, then
// what was skipped, and what took time.
func report(in io.Reader, out *bufio.Writer) (failed bool, err error) {
	said := make(map[test][]string) // of tests that have not passed
	order := make(map[string][]test)
	skipped := make(map[string][]string) // what they say of it -> tests
	costs := make(map[string]*cost)
	var slow []event
	lines := bufio.NewReader(in)
	for {
		line, readErr := lines.ReadString('\n')
		var e event
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
			out.WriteString(line) // of go itself
		}
		t := test{e.Package, e.Test}
		switch e.Action {
		case "output":
			if seconds, ok := strings.CutPrefix(e.Output, cpuPrefix); ok {
				cpu, _ := strconv.ParseFloat(strings.TrimSpace(seconds), 64)
				costOf(costs, e.Package).cpu += cpu
				break
			}
			if said[t] == nil {
				order[t.pkg] = append(order[t.pkg], t)
			}
			said[t] = append(said[t], e.Output)
		case "build-output":
			out.WriteString(e.Output)
		case "build-fail":
			failed = true
		case "pass", "skip", "fail":
			failed = failed || e.Action == "fail"
			if e.Test != "" && !strings.Contains(e.Test, "/") {
				slow = append(slow, e)
			} else if e.Test == "" && e.Elapsed > 0 {
				costOf(costs, e.Package).wall += e.Elapsed
			}
			switch {
			case e.Test == "":
				own := said[t]
				for _, one := range order[t.pkg] {
					if one != t {
						show(out, said[one], e.Action == "fail")
					}
					delete(said, one)
				}
				show(out, own, e.Action == "fail") // ends with the verdict
				delete(order, t.pkg)
				out.Flush()
			case e.Action == "skip":
				why := e.Package + ": " + reason(said[t])
				skipped[why] = append(skipped[why], e.Test)
				said[t] = []string{}
			case e.Action == "pass":
				said[t] = []string{}
			}
		}
		if readErr == io.EOF {
			break
		}
		if readErr != nil {
			return true, readErr
		}
	}
	if len(skipped) > 0 {
		out.WriteString("skipped:\n")
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		tests := slices.Sorted(slices.Values(skipped[why]))
		if more := len(tests) - namesMax; more > 0 {
			tests = append(tests[:namesMax], fmt.Sprintf("and %d more", more))
		}
		fmt.Fprintf(out, "  %s: %s\n", why, strings.Join(tests, ", "))
	}
	tell(out, costs, slow)
	return failed, nil
}

func costOf(all map[string]*cost, pkg string) *cost {
	if all[pkg] == nil {
		all[pkg] = &cost{pkg: pkg}
	}
	return all[pkg]
}

// tell lists what took time, the dearest first.
func tell(out *bufio.Writer, costs map[string]*cost, slow []event) {
	if len(costs) == 0 {
		return
	}
	sum := cost{pkg: fmt.Sprintf("all %d packages", len(costs))}
	all := slices.SortedFunc(maps.Values(costs), func(a, b *cost) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.wall, a.wall), cmp.Compare(a.pkg, b.pkg))
	})
	out.WriteString("CPU and wall time of the test binaries, in s:\n")
	for _, c := range all {
		fmt.Fprintf(out, "%8.2f %8.2f  %s\n", c.cpu, c.wall, c.pkg)
		sum.cpu, sum.wall = sum.cpu+c.cpu, sum.wall+c.wall
	}
	fmt.Fprintf(out, "%8.2f %8.2f  %s\n", sum.cpu, sum.wall, sum.pkg)
	slices.SortFunc(slow, func(a, b event) int {
		return cmp.Or(cmp.Compare(b.Elapsed, a.Elapsed), cmp.Compare(a.Package+a.Test, b.Package+b.Test))
	})
	out.WriteString("the slowest tests, in s:\n")
	for _, e := range slow[:min(slowMax, len(slow))] {
		fmt.Fprintf(out, "%8.2f  %s %s\n", e.Elapsed, e.Package, e.Test)
	}
}

// progress is what go test -v says of a test besides its output.
var progress = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) |^PASS\n$`)

// verdict is the line that go test prints for a package in any case.
var verdict = regexp.MustCompile(`^(ok|FAIL|\?) *\t`)

func show(out *bufio.Writer, lines []string, all bool) {
	for _, l := range lines {
		if all && !progress.MatchString(l) || verdict.MatchString(l) {
			out.WriteString(l)
		}
	}
}

var frame = regexp.MustCompile(`^ *(--- SKIP: |=== )`)

// reason is what a skipped test said: the last line before the verdict.
func reason(lines []string) string {
	said := strings.Join(slices.DeleteFunc(slices.Clone(lines), frame.MatchString), "")
	if said = strings.TrimSpace(said); said == "" {
		return "no reason given"
	}
	return strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:])
}
