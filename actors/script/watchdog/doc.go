// Package watchdog ends calls that take too long: one goroutine for all who ask, at work only while a call is under way. Begin and End cost
// some tens of nanoseconds and take no lock, unless memory is short (excess.go). Long calls give way to others where they can wait: Pause.
package watchdog
