package modules

import (
	"embed"
	"sync"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

//go:embed js/*.js
var sources embed.FS

type source struct {
	program *goja.Program
	words   uint8 // additions that the source mentions (see mentions)
}

// compiled caches the programs of the built-in modules, for all runtimes.
var compiled sync.Map // name -> func() source

func program(name string) source {
	once, _ := compiled.LoadOrStore(name, sync.OnceValue(func() source {
		text, err := sources.ReadFile("js/" + name + ".js")
		if err != nil {
			panic(err)
		}
		return source{
			program: compile.Library("node:"+name, "(function (exports, require, module, binding) {'use strict';"+string(text)+"\n})"),
			words:   mentions(text),
		}
	}))
	return once.(func() source)()
}

// builtins maps the names of modules that can be required to the names of their sources.
var builtins = map[string]string{
	"assert": "assert", "assert/strict": "assert_strict", "buffer": "buffer", "console": "console", "crypto": "crypto", "events": "events",
	"fs": "fs", "fs/promises": "fs_promises", "os": "os", "path": "path", "path/posix": "path", "perf_hooks": "perf_hooks", "process": "process",
	"sys": "util", "timers": "timers", "timers/promises": "timers_promises",
	"url": "url", "util": "util", "util/types": "util_types",
}
