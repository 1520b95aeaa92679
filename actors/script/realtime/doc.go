// Package realtime is the JavaScript side of the Realtime script interface (realtime.md 15 to 18), one file for all engines, so that they
// behave the same. The comment at its top is the contract between it and an engine.
package realtime
