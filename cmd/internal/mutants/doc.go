// Package mutants checks the tests: it puts deliberate bugs into the source, one at a time, and runs the test
// that must find each of them. The bugs, the promises that they break and the tests are a table (mutants.go).
// cmd/internal/archtest keeps the table true; make mutants (run) tries the bugs.
package mutants
