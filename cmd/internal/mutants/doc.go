// Package mutants tests the tests. It inserts deliberate bugs into the source, one at a time, and runs the test that
// must detect each bug. table_test.go lists the bugs, the promises that they break, and the tests. Ordinary tests check
// that the list fits the source; make mutants tries the bugs.
package mutants
