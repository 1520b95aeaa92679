package main

import (
	"fmt"
	"io"

	"troupe/bench/report"
)

// result is what is stored. Parts that were not measured are absent.
type result struct {
	Machine    report.Machine `json:"machine"`
	Command    string         `json:"command"`
	Build      string         `json:"build"`
	Config     config         `json:"config"`
	Placements []figures      `json:"placements,omitempty"` // from the call to the event
	Answers    []figures      `json:"answers,omitempty"`    // from the call to its answer
	Players    []figures      `json:"players,omitempty"`
	Search     *searchResult  `json:"search,omitempty"`
	Starts     []startResult  `json:"starts,omitempty"`
	Bars       report.Bars    `json:"bars"`
}

// print writes the figures and the bars.
func (r *result) print(w io.Writer) {
	c := r.Config
	fmt.Fprintln(w, r.Machine)
	fmt.Fprintf(w, "troupe, %s; durable store, one sync per batch; host and load share the machine\n", r.Build)
	rounds := func(what string, all []figures) {
		for i, f := range all {
			fmt.Fprintf(w, "%s, round %d: %d, %d failed, %.0f/s; ms: p50 %.1f, p99 %.1f, p99.9 %.1f, max %.1f %s\n", what, i+1, f.Calls, f.Failed, f.Rate, f.P50, f.P99, f.P999, f.Max, f.First)
		}
	}
	rounds(fmt.Sprintf("placements at %.0f/s, call to FULFILLED event", c.PlacementRate), r.Placements)
	rounds("  call to PENDING answer", r.Answers)
	rounds(fmt.Sprintf("CreatePlayerSession at %.0f/s", c.PlayerRate), r.Players)
	if s := r.Search; s != nil {
		fmt.Fprintf(w, "search: %d game sessions (made at %.0f/s), %q: ms: p50 %.1f, p99 %.1f, max %.1f\n", c.Found, s.MadePerSecond, s.Filter, s.P50, s.P99, s.Max)
	}
	for i, s := range r.Starts {
		fmt.Fprintf(w, "start %d with %d records (%.1f MiB): %.2f s; with none %.2f s\n", i+1, c.Records, s.MiB, s.Seconds, s.Empty)
	}
	for _, b := range r.Bars {
		fmt.Fprintln(w, b)
	}
}
