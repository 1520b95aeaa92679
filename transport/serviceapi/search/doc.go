// Package search reads the filter and sort expressions of SearchGameSessions
// (service-api.md 4), and applies them to game sessions. It is pure: the same input
// has the same result, and nothing here waits, locks or starts anything.
//
// A filter is parsed to a tree, which can be printed, and compiled to comparisons that
// each know where to go on if they hold, and if not. Matching walks those: no
// recursion, no allocation. Parsing recurses as deep as an expression nests, which the
// 1,024 characters that it may have bound.
package search
