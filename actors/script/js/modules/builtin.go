package modules

import (
	"embed"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

//go:embed js/*.js
var sources embed.FS

// compiled are the built-in modules as programs, for all runtimes.
var compiled sync.Map // name -> func() *goja.Program

// program returns a built-in module; its source is ours, so it compiles.
func program(name string) *goja.Program {
	once, _ := compiled.LoadOrStore(name, sync.OnceValue(func() *goja.Program {
		text, err := sources.ReadFile("js/" + strings.ReplaceAll(name, "/", "_") + ".js")
		if err != nil {
			panic(err)
		}
		return goja.MustCompile("node:"+name, "(function (exports, require, module, binding) {'use strict';"+string(text)+"\n})", false)
	}))
	return once.(func() *goja.Program)()
}

// Names of what can be required. Values are the names of sources.
var builtins = map[string]string{
	"assert": "assert", "assert/strict": "assert_strict", "buffer": "buffer", "console": "console", "crypto": "crypto", "events": "events",
	"fs": "fs", "fs/promises": "fs_promises", "os": "os", "path": "path", "path/posix": "path", "perf_hooks": "perf_hooks", "process": "process",
	"querystring": "querystring", "string_decoder": "string_decoder", "sys": "util", "timers": "timers", "timers/promises": "timers_promises",
	"url": "url", "util": "util", "util/types": "util_types",
}

// absent are Node's modules that need what the embedded engine does not have.
var absent = func() map[string]bool {
	m := make(map[string]bool)
	for _, n := range strings.Fields(`async_hooks child_process cluster constants dgram diagnostics_channel dns dns/promises domain
		http http2 https inspector inspector/promises module net punycode readline readline/promises repl sea sqlite stream stream/consumers
		stream/promises stream/web test tls trace_events tty v8 vm wasi worker_threads zlib path/win32`) {
		m[n] = true
	}
	return m
}()

// lazy are the globals that load a module when first touched: global, module, key;
// without a key the whole module.
var lazy = [][3]string{
	{"Buffer", "buffer", "Buffer"}, {"console", "console", ""}, {"process", "process", ""},
	{"URL", "url", "URL"}, {"URLSearchParams", "url", "URLSearchParams"},
	{"TextEncoder", "encoding", "TextEncoder"}, {"TextDecoder", "encoding", "TextDecoder"},
	{"atob", "buffer", "atob"}, {"btoa", "buffer", "btoa"}, {"performance", "perf_hooks", "performance"},
	{"structuredClone", "clone", "structuredClone"}, {"queueMicrotask", "clone", "queueMicrotask"},
	{"Event", "event_target", "Event"}, {"EventTarget", "event_target", "EventTarget"},
	{"AbortController", "event_target", "AbortController"}, {"AbortSignal", "event_target", "AbortSignal"},
}
