// Package match forms matches from a pool of tickets by the rules of a rule set (flexmatch.md 6 to 12).
//
// It is pure: time and seed are arguments, and it uses no clock, goroutine, lock or I/O. Equal calls give equal matches.
// Only one goroutine at a time may use a Pool and its Passes.
//
//	pool.go      tickets, and their precomputed values
//	eval.go      values of property expressions
//	rules.go     whether a rule holds for a candidate match
//	prune.go     which rules can reject an incomplete candidate
//	pass.go      one pass: batches and anchors, in slices
//	batch.go     sets of tickets in a batch, by rule
//	search.go    small matches: which tickets
//	assign.go    small matches: which teams
//	large.go     large matches
//	explain.go   why a ticket waits
//	recent.go    an estimate of waits
//	measure.go   the quality of a match, by rule
//
// A pass over a pool:
//
//	pass := pool.Begin(now, seed)
//	for done := false; !done; {
//		done = pass.Step(20_000)    // between slices, tickets may be added and removed
//		for _, m := range pass.Take() { ... }
//	}
//	again := pass.Cut()             // the budget is spent: the next pass continues here
package match
