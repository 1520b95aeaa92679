package modules

import (
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/compile"
)

// Options are what package js gives. All functions must be set. They are called inside a call of the script, on its goroutine.
type Options struct {
	// Unit has the files; it must be set.
	Unit *compile.Unit
	// Entry is the path of the entry file in the bundle, for require.main and process.argv.
	Entry string
	// Args are the launch parameters, for process.argv.
	Args []string
	// Env is process.env; nil is empty.
	Env map[string]string
	// Metadata is the content of /local/gamemetadata/gamelift-metadata.json; nil: there is no such file.
	Metadata []byte
	// Exit is process.exit. It should interrupt the runtime.
	Exit func(code int)
	// Log takes what console prints, formatted.
	Log func(level script.Level, text string)
	// NextTick queues a job that runs after the current code of the script, before promise jobs.
	NextTick func(job func())
	// Uncaught takes an error that a job has thrown.
	Uncaught func(err goja.Value)
	// Globals are names of more globals. Global makes one when it is first read.
	Globals []string
	Global  func(name string) goja.Value
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
