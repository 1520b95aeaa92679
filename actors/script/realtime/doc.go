// Package realtime is the JavaScript side of the Realtime script interface: the
// session object, messages, logger, and how callbacks are called and judged
// (realtime.md 15 to 18). One file for all engines, so that they behave the same; the
// comment at its top is the contract between it and an engine. The package runs nothing.
package realtime
