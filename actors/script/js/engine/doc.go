// Package engine accesses private fields of the JavaScript engine, goja. The engine has no hooks for what the
// host must limit in hostile scripts: built-in functions, recursion and memory. Package js decides on the
// limits; this package reads and changes the engine for them. No other package accesses private fields of
// goja (cmd/internal/archtest).
//
// fields.go     private fields by name              templates.go  templates of built-ins, shared by all runtimes
// functions.go  implementations of built-ins        objects.go    the internals of objects, and their sizes
// machine.go    call stack and promise jobs         closures.go   variables captured by closures of the engine
// held.go       how many bytes a runtime holds      plain.go      plain data, read without reflection
//
// To upgrade the engine, first run the tests of this package. TestTheEngineIsAsExpected has a table of
// everything that this package relies on; for each row it reports what has changed and what the row is for.
// The sweep tests of package js then find new built-ins that have no guard yet.
//
// Changing a template affects all runtimes of the process, so it must be done before other goroutines create
// runtimes. All other functions must be called by the goroutine that owns the runtime.
package engine
