package modules

import (
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/compile"
)

// Options are what the engine gives. All functions must be set. They are called on the goroutine that runs the runtime, from inside script code.
type Options struct {
	// Unit has the files; it must be set.
	Unit *compile.Unit
	// Entry is the path of the entry file in the bundle, for require.main and process.argv.
	Entry string
	// Args are the launch parameters, for process.argv.
	Args []string
	// Env is process.env; nil is empty.
	Env map[string]string
	// Metadata is what /local/gamemetadata/gamelift-metadata.json has; nil: no such file.
	Metadata []byte
	// Exit is process.exit. It should interrupt the runtime, so that no more script code runs.
	Exit func(code int)
	// Log takes what console prints, formatted. Where it comes from can be read with the runtime's CaptureCallStack.
	Log func(level script.Level, text string)
	// NextTick queues a job to run once the current script code is over, before promise jobs if the engine can.
	NextTick func(job func())
	// Uncaught takes an error thrown in a job that has no caller.
	Uncaught func(err goja.Value)
	// Globals names more globals, which Global makes when they are first read.
	Globals []string
	Global  func(name string) goja.Value
	// Pause is called in each turn of a loop and at each start of a function of the script's files, and must be quick; it may wait, which holds up
	// the script, or throw, and changes nothing else of it.
	Pause func()
	// Worked is called after each piece of work in Go during which nothing could pause, with the time that it took. It may do what Pause may.
	Worked func(took time.Duration)
	// Size is called with what operators of the script's files and functions of modules have made and may be large, and may throw.
	// It returns v.
	Size func(v goja.Value) goja.Value
	// Eval is called with the source of each direct eval in the script's files, before the engine gets it.
	Eval func(c goja.FunctionCall)
	// Uses is called before the code of a file runs whose syntax makes objects of a class of the language (compile.UseRegExp).
	Uses func(class string)
}
