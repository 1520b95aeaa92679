package main

import (
	"errors"
	"testing"

	"troupe/bench/result"
)

// A missed goal determines the exit code, even if other figures are invalid. Invalid figures of a peer that no goal
// refers to do not change it.
func TestBenchExitCode(t *testing.T) {
	t.Parallel()
	of := func(goal result.Verdict, void ...string) result.Result {
		return result.Result{Subjects: []result.Subject{{Name: "troupe"}, {Name: "nano"}}, Goals: []result.Verdict{goal}, Void: void}
	}
	missed, holds := of(result.Verdict{Measured: true}), of(result.Verdict{Measured: true, Holds: true})
	unproven, peer := of(result.Unproven(result.Goal{}, "late"), "troupe: late"), of(result.Verdict{Measured: true, Holds: true}, "nano: late")
	for name, c := range map[string]struct {
		results []result.Result
		want    int
	}{
		"all hold":               {[]result.Result{holds, holds}, 0},
		"a peer is late":         {[]result.Result{peer}, 0},
		"one is missed":          {[]result.Result{holds, missed}, exitFailure},
		"one could not be told":  {[]result.Result{holds, unproven}, exitVoid},
		"missed, and not judged": {[]result.Result{unproven, missed, peer}, exitFailure},
	} {
		got, exit := 0, new(exitError)
		if err := outcome(c.results); errors.As(err, &exit) {
			got = exit.code
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
