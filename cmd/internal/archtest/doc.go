// Package archtest contains tests for the rules of the module: which package may import which, and a few rules that
// keep the source readable. The tests read the source of the whole module. A failure gives the position and the reason.
// For each rule, a test with invented sources proves that the rule can fail.
package archtest
