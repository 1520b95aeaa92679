// Package js runs game scripts in an embedded JavaScript engine (goja). Each game session has a runtime, which its actor owns, so
// callbacks, timers and promise jobs never overlap (realtime.md 18.2). The scripts of one version are compiled once and shared. Package realtime
// makes what a script sees, js/modules the modules that it may require, js/engine changes the engine itself. This package calls scripts, and bounds
// what they do:
//
//	program.go    a version: its compiled files     handler.go   a game session's run: its start and end
//	callbacks.go  script.Handler, method by method  calls.go     the one way into a runtime
//	host.go       what realtime.js asks for         timers.go    setTimeout and the like
//	runtime.go    makes a runtime                   errors.go    what errors lead to
//	check.go      checks a script before its use    builtins.go  guards for built-ins
//	guard.go      input that would overflow the stack, and eval
//	depth.go      recursion                         sizes.go     lists and texts that are too large
//	lists.go      lengths that change               pieces.go    pieces of large texts
//	json.go       JSON                              regexps.go   regular expressions
//
// js/compile puts pauses into the code of scripts: there a long call rests, or ends (Handler.pause, watchdog.Watch.Pause).
//
// The engine's interrupt acts between two JavaScript instructions. A built-in that runs long (a regular expression that backtracks, a sort of
// millions) cannot be stopped, and memory is bounded only between instructions. The watchdog gives up such a call: its goroutine is never used
// again. Scripts of strangers belong into the engine of package node.
package js
