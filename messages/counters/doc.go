// Package counters holds a host's metrics: atomic numbers in one Set, with names and help texts,
// which transport/ops exposes to Prometheus. It never logs. Methods may be called from any goroutine.
package counters
