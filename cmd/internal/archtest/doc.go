// Package archtest has tests for the rules of the module: which package may import which,
// and a few rules that keep the source readable. They read the source of the whole module
// and fail with the position and the reason. For each rule, a test with invented sources
// proves that it can fail. The package has only tests.
package archtest
