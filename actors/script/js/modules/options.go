package modules

import (
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/compile"
)

// Options are set by package js. All functions must be set. They are called inside a call of the script, on
// its goroutine.
type Options struct {
	Unit     *compile.Unit     // the files of the bundle
	Entry    string            // path of the entry file in the bundle, for require.main and process.argv
	Args     []string          // launch parameters, for process.argv
	Env      map[string]string // process.env
	Metadata []byte            // content of /local/gamemetadata/gamelift-metadata.json; nil if there is no such file

	Exit     func(code int)                        // process.exit; it should interrupt the runtime
	Log      func(level script.Level, text string) // logs the formatted text that console prints
	NextTick func(job func())                      // queues a job that runs after the current script code and before promise jobs
	Uncaught func(err goja.Value)                  // handles an error that a tick or a microtask has thrown
	Globals  []string                              // names of additional globals
	Global   func(name string) goja.Value          // creates an additional global when it is first read

	// Pause is the yield point: the script's files call it at every loop iteration and function entry, so it
	// must be fast. It may block or throw.
	Pause func()
	// Worked is called after each piece of Go work without yield points. took is the duration of that work.
	// It may block or throw.
	Worked func(took time.Duration)
	// Size is called with values that may be large: results of operators in the script's files and of
	// functions of modules. It returns v, or throws.
	Size func(v goja.Value) goja.Value
	// Eval is called with the source of each direct eval in the script's files, before the engine evaluates
	// it.
	Eval func(c goja.FunctionCall)
	// Uses is called before a file runs whose code may use a class without naming it (compile.UseRegExp).
	Uses func(class string)
}
