// Package mutants checks the tests: it puts deliberate bugs into the source, one at a time, and runs the test
// that must find each of them. The bugs, the promises that they break and the tests are a table (table_test.go).
// Tests keep the table true; make mutants tries the bugs.
package mutants
