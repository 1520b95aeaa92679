package modules

import (
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/compile"
)

// Options are what package js gives. All functions must be set. They are called inside a call of the script, on its goroutine.
type Options struct {
	Unit     *compile.Unit     // has the files
	Entry    string            // path of the entry file in the bundle, for require.main and process.argv
	Args     []string          // launch parameters, for process.argv
	Env      map[string]string // process.env
	Metadata []byte            // content of /local/gamemetadata/gamelift-metadata.json; nil: there is no such file

	Exit     func(code int)                        // process.exit; should interrupt the runtime
	Log      func(level script.Level, text string) // takes what console prints, formatted
	NextTick func(job func())                      // queues a job that runs after the current code of the script, before promise jobs
	Uncaught func(err goja.Value)                  // takes an error that a job has thrown
	Globals  []string                              // names of more globals
	Global   func(name string) goja.Value          // makes one of these when it is first read

	// Pause is called in each turn of a loop and at each start of a function of the script's files, so it must be quick. It may wait or throw.
	Pause func()
	// Worked is called after each piece of work in Go that could not pause, with the time that it took. It may wait or throw.
	Worked func(took time.Duration)
	// Size is called with what operators of the script's files and functions of modules have made that may be large. It returns v, or throws.
	Size func(v goja.Value) goja.Value
	// Eval is called with the source of each direct eval in the script's files, before the engine gets it.
	Eval func(c goja.FunctionCall)
	// Uses is called before the code of a file runs that may use a class without naming it (compile.UseRegExp).
	Uses func(class string)
}
