// Package stagetest helps to test single actors: Start runs a Stage for the
// length of one test and fails it if an actor is left or a panic was not
// expected, and a Probe is an actor that records what happens to it and does
// what a test tells it. Everything works in real time and in the virtual time
// of a testing/synctest bubble. Goroutines are not counted here, as tests may
// run side by side: have goleak do that in TestMain. For tests only.
package stagetest
