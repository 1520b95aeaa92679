// Package counters holds a host's metrics: atomic numbers in one Set, with names and help texts. transport/ops exposes
// them to Prometheus. The package never logs. Any goroutine may call its methods.
package counters
