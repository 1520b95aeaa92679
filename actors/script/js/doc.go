// Package js runs game scripts in an embedded JavaScript engine (goja). Each game session has its own
// runtime, which its actor owns, so callbacks, timers and promise jobs never overlap (realtime.md 18.2). A
// version's scripts are compiled once and shared by its game sessions. Package realtime provides the session
// API of scripts, js/modules the modules that they can require, and js/engine modifies the engine. This
// package calls scripts and limits what they can do:
//
// program.go    a version: its compiled files     handler.go   a game session's script, from start to end
// callbacks.go  the methods of script.Handler     calls.go     the only way into a runtime
// host.go       host functions of realtime.js     timers.go    setTimeout and related functions
// runtime.go    creates a runtime                 errors.go    handling of uncaught errors
// check.go      checks a script before its use    builtins.go  installs guards in built-ins
// guard.go      input that would overflow the stack, and eval
// depth.go      recursion                         sizes.go     size limits of lists and texts
// lists.go      lists whose length may change     pieces.go    substrings of large texts
// json.go       JSON                              json_plain.go  JSON.stringify of plain data
// regexps.go    regular expressions
//
// js/compile inserts yield points into the code of scripts. A long call is suspended or ended there
// (Handler.pause, watchdog.Watch.Pause).
//
// The engine checks for interrupts only between JavaScript instructions. A built-in that runs long (a regular
// expression that backtracks, a sort of millions of elements) cannot be stopped, and memory is limited only
// between instructions. The watchdog abandons such a call: its goroutine is never used again. Run untrusted
// scripts in the engine of package node instead.
package js
