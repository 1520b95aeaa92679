// Package stagetest helps to test single actors. Start runs a Stage for one test,
// and fails the test if an actor is left or a panic was not expected. A Probe is
// an actor that records its messages and runs functions for the test. Both work in
// real time and in the virtual time of a testing/synctest bubble. Goroutines are
// not counted, because tests may run in parallel: use goleak in TestMain. For tests
// only.
package stagetest
