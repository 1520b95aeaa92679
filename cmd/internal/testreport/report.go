package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json (go doc test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// test is a test, or with an empty name what a package says outside of its tests.
type test struct{ pkg, name string }

// namesMax is how many tests are named that were skipped for the same reason.
const namesMax = 4

// report copies what failed and one line for each package to out, as they end, then
// what was skipped.
func report(in io.Reader, out *bufio.Writer) (failed bool, err error) {
	said := make(map[test][]string) // of tests that have not passed
	order := make(map[string][]test)
	skipped := make(map[string][]string) // what they say of it -> tests
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
	return failed, nil
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
