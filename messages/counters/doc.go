// Package counters holds the metrics of a host: atomic numbers in one Set, with their names
// and help texts. transport/ops exposes them to Prometheus. The package never logs. All
// methods may be called from any goroutine.
package counters
