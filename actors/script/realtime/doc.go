// Package realtime contains the JavaScript side of the Realtime script interface (realtime.md 15 to 18). All
// engines run the same file, so that they behave the same. The comment at the top of the file defines the
// contract between it and an engine.
package realtime
