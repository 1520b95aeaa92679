// Package js runs game scripts in an embedded JavaScript engine (goja): one runtime per game session, owned by the game session's actor, so
// callbacks, timers and promise jobs never overlap (realtime.md 18.2). The scripts of one version are compiled once and shared. What a script sees is
// made by package realtime, the modules it may require by js/modules; here are the calls into it and their bounds:
//
//	program.go    a version: its compiled files     handler.go   a game session's run: its start and end
//	callbacks.go  script.Handler, method by method  calls.go     the one way into a runtime
//	host.go       what realtime.js asks for         timers.go    setTimeout and its kin
//	runtime.go    makes a runtime                   jobs.go      promise jobs that wait
//	errors.go     what becomes of errors            guard.go     what would overflow the stack
//	sizes.go      what would be too large           check.go     a script before it is used
//
// A call that runs long rests now and then (Handler.pause, watchdog.Watch.Pause), where js/compile has put looks into the code.
//
// What the engine cannot stop: its interrupt acts between two JavaScript instructions, so a built-in that runs long (a regular expression that
// backtracks, a sort of millions) goes on until it is done, and memory is bounded only between instructions. The watchdog gives such a call up: its
// goroutine is never used again. Scripts of strangers belong into the engine of package node.
package js
