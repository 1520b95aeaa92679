// Package watchdog ends calls that take too long. One goroutine watches the calls of all owners, and runs
// only while a call is in progress. Begin and End take some tens of nanoseconds. They take no lock unless
// memory is short (excess.go). Long calls yield to others at their calls of Pause.
package watchdog
