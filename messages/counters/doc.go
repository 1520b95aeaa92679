// Package counters holds what the host counts: plain atomic numbers in one Set
// that is passed to whoever counts. It knows nothing of how the numbers are
// shown beyond their names and help texts (transport/ops turns them into Prometheus metrics) and never logs. All
// methods may be called from any goroutine.
package counters
