// Package match forms matches from a pool of tickets, by a rule set (flexmatch.md 6 to 12).
//
// It is pure: time and seed are arguments, and there is no clock, goroutine, lock or I/O. The same calls give the same matches.
// One goroutine at a time may use a Pool and the Passes that it began.
//
//	pool.go      tickets, and what is computed once when one is added
//	eval.go      values of property expressions
//	rules.go     whether a rule holds for a candidate match
//	prune.go     what may be decided before a candidate match is complete
//	pass.go      one pass: batches and anchors, in slices
//	batch.go     sets of the tickets that rules allow, by position in a batch
//	search.go    small matches: which tickets play together
//	assign.go    small matches: which team each ticket gets
//	large.go     large matches
//	explain.go   why a ticket waits
//	recent.go    how long tickets have waited: an estimate
//	measure.go   how good a match is, rule by rule
//
// A pass over a pool:
//
//	pass := pool.Begin(now, seed)
//	for done := false; !done; {
//		done = pass.Step(20_000)    // other work may go between the slices; tickets may be added and removed
//		for _, m := range pass.Take() { ... }
//	}
//	again := pass.Cut()             // it has ended at its budget: begin another one soon, which goes on where it stopped
package match
