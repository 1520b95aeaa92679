package modules

import (
	"bytes"
	"slices"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// globals is the prototype of the global object. It provides the globals that are not part of the language.
// When a global is first read, it becomes a plain property of the global object. Accessors for all globals
// would take 20 KiB of each runtime.
type globals struct {
	Sealed
	global *goja.Object
	loader *Loader
}

// onDemand maps globals to the module that defines them and to the name of the export. An empty name means the
// whole exports object.
var onDemand = map[string][2]string{
	"Buffer":          {"buffer", "Buffer"},
	"atob":            {"buffer", "atob"},
	"btoa":            {"buffer", "btoa"},
	"console":         {"console", ""},
	"process":         {"process", ""},
	"URL":             {"url", "URL"},
	"URLSearchParams": {"url", "URLSearchParams"},
	"TextEncoder":     {"encoding", "TextEncoder"},
	"TextDecoder":     {"encoding", "TextDecoder"},
	"performance":     {"perf_hooks", "performance"},
	"crypto":          {"crypto", "webcrypto"},
	"queueMicrotask":  {"microtask", "queueMicrotask"},
}

func (g *globals) Get(name string) goja.Value {
	var v goja.Value
	if source, ok := onDemand[name]; ok {
		v = g.loader.Builtin(source[0])
		if key := source[1]; key != "" {
			v = v.ToObject(g.loader.runtime).Get(key)
		}
	} else if slices.Contains(g.loader.options.Globals, name) {
		v = g.loader.options.Global(name)
	} else {
		return nil
	}
	must(g.global.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return v
}

func (g *globals) Has(name string) bool {
	_, ok := onDemand[name]
	return ok || slices.Contains(g.loader.options.Globals, name)
}

func (l *Loader) enableGlobals() {
	g := &globals{global: l.runtime.GlobalObject(), loader: l}
	must(g.global.DefineDataProperty("global", g.global, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	// For code that the script evaluates.
	must(g.global.DefineDataProperty(compile.PauseName, l.pause, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	must(g.global.SetPrototype(l.runtime.NewDynamicObject(g)))
}

// additions are symbols and methods that the engine lacks. They are needed for async generators, for using
// declarations, and for error classes that capture their own stack.
var additions = [...]struct{ name, of string }{
	{"asyncIterator", "Symbol"}, {"dispose", "Symbol"}, {"asyncDispose", "Symbol"}, {"captureStackTrace", "Error"},
}

// mentions returns a bit set of the additions that a source mentions. Only these are installed, because each
// takes 1.5 KiB of a runtime.
func mentions(text []byte) (bits uint8) {
	for i, a := range additions {
		if bytes.Contains(text, []byte(a.name)) {
			bits |= 1 << i
		}
	}
	return bits
}

// mentioned is mentions for a file of the bundle. The result is cached for all runtimes.
func (l *Loader) mentioned(name string) uint8 {
	return l.options.Unit.Memo("mentions "+name, func() any { return mentions(l.resolver.files[name]) }).(uint8)
}

// install defines the additions in bits that are not defined yet.
func (l *Loader) install(bits uint8) {
	bits &^= l.have
	l.have |= bits
	for i, a := range additions {
		if bits&(1<<i) == 0 {
			continue
		}
		object := l.runtime.Get(a.of).ToObject(l.runtime)
		if v := object.Get(a.name); v != nil && !goja.IsUndefined(v) {
			continue
		}
		if a.of == "Symbol" {
			must(object.DefineDataProperty(a.name, goja.NewSymbol("Symbol."+a.name), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
		} else {
			must(object.DefineDataProperty(a.name, l.runtime.ToValue(l.captureStackTrace), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
		}
	}
}
