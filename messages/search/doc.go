// Package search reads the filter and sort expressions of SearchGameSessions
// (service-api.md 4), and applies them to game sessions. It is pure: the same input
// has the same result, and nothing here waits, locks or starts anything.
//
// A filter becomes functions that call each other; matching allocates nothing. 1,024 characters bound how deep they recurse.
package search
