// Package script is where a game's own logic meets the host: Handler has the
// callbacks of a Realtime script (realtime.md 15) as Go methods, and Session is
// what a script may do (realtime.md 16). Relay is the handler of a game session
// without a script: a stateless relay. A Go game embeds Base and overrides what
// it needs. Packages js and node make the Handlers of scripts.
//
// All callbacks of one game session run in its actor, one at a time, in order;
// a Session may be used from inside a callback only (Session.Do gets there from
// other goroutines). A callback that panics is caught, logged and counts as
// false (realtime.md 15.2). The package starts nothing and owns no state.
package script
