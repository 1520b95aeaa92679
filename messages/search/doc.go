// Package search reads the filter and sort expressions of SearchGameSessions
// (service-api.md 4), and applies them to game sessions. It is pure: the same input
// has the same result, and nothing here waits, locks or starts anything.
//
// A filter is parsed to functions that call each other. Matching allocates nothing. Parsing and
// matching recurse as deep as an expression nests; the limit of 1,024 characters bounds that.
package search
