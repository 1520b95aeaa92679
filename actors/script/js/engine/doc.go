// Package engine reaches into the private memory of the JavaScript engine, goja. The engine has no hooks for what keeps a hostile script from ending
// the host: bounds of its built-ins, of recursion, of memory. Package js decides on these bounds; here is how the engine is read and changed for
// them. No other package does that (cmd/internal/archtest).
//
//	fields.go     private fields by name          templates.go  what all runtimes make their built-ins of
//	functions.go  what a built-in function does   objects.go    what an object is inside, and its size
//	machine.go    calls, jobs and the stack       closures.go   what closures of the engine hold
//	held.go       how many bytes a runtime holds
//
// To take a newer engine, run the tests of this package first: TestTheEngineIsAsExpected has a table of all that is relied on, and says for each row
// what has changed and what it is for. Then the sweeps of package js find built-ins that are new, and bound nothing yet.
//
// A change of a template is for the whole process, and must come before other goroutines have runtimes. All else is for the goroutine that has the runtime.
package engine
