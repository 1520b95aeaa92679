// Package script is the interface between a game's logic and the host. Handler has the callbacks of a
// Realtime script (realtime.md 15), and Session the actions that it may take (realtime.md 16). A game in Go
// embeds Base and overrides the methods it needs. Packages js and node implement Handler for scripts.
//
// All callbacks of one game session run on its actor, one at a time and in order. If a callback panics, the
// panic is logged and the callback counts as having returned false (realtime.md 15.2).
package script
