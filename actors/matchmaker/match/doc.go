// Package match forms matches from a pool of tickets by the rules of a rule set (flexmatch.md 6 to 12).
//
// The package is deterministic: time and seed are arguments, and it uses no clock, goroutine, lock or I/O.
// Equal calls return equal matches. Only one goroutine at a time may use a Pool and its Passes.
//
// A pass over a pool:
//
//	pass := pool.Begin(now, seed)
//	for done := false; !done; {
//		done = pass.Step(20_000)    // between steps, tickets may be added and removed
//		for _, m := range pass.Take() { ... }
//	}
//	again := pass.Cut()             // true: the budget was spent, and the next pass continues here
package match
