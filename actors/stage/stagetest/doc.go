// Package stagetest helps to test single actors. Start runs a Stage for one test. The test fails if an actor
// is left at its end or an unexpected panic occurs. A Probe is an actor that records its messages and runs
// functions for the test. Both work in real time and in the virtual time of a testing/synctest bubble. The
// package does not check for leaked goroutines, because tests may run in parallel; use goleak in TestMain. It
// is for tests only.
package stagetest
