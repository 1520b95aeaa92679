// Package script is where a game's own logic meets the host: Handler has the callbacks of a Realtime script (realtime.md 15), and Session
// what it may do (realtime.md 16). A Go game embeds Base and overrides what it needs. Packages js and node make the Handlers of scripts.
//
// All callbacks of one game session run in its actor, one at a time, in order. A callback that panics is caught, logged and counts as false
// (realtime.md 15.2).
package script
