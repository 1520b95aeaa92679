// Package search parses the filter and sort expressions of SearchGameSessions (service-api.md 4) and applies them to
// game sessions. It is pure: the same input always has the same result, and nothing waits, locks or starts anything.
//
// A filter is compiled to functions that call each other. Matching allocates no memory. The limit of 1,024 characters
// per expression also limits the depth of the recursion.
package search
