package modules

import (
	"bytes"
	"slices"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// globals is the prototype of the global object: what a script looks for there and
// the language does not have. It makes a global when it is first read, which becomes
// a plain property of the global object then; accessors for all of them would take
// 20 KiB of each runtime.
type globals struct {
	Sealed
	global *goja.Object
	loader *Loader
}

// lazy are the globals of modules by name: module and key; without a key it is the
// whole module.
var lazy = map[string][2]string{
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

// Get implements goja.DynamicObject.
func (g *globals) Get(name string) goja.Value {
	var v goja.Value
	if source, ok := lazy[name]; ok {
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

// Has implements goja.DynamicObject.
func (g *globals) Has(name string) bool {
	_, ok := lazy[name]
	return ok || slices.Contains(g.loader.options.Globals, name)
}

// enableGlobals gives the runtime the globals of modules and those of the engine.
func (l *Loader) enableGlobals() {
	g := &globals{global: l.runtime.GlobalObject(), loader: l}
	must(g.global.DefineDataProperty("global", g.global, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(g.global.DefineDataProperty(compile.PauseName, l.pause, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)) // for text that is evaluated
	must(g.global.SetPrototype(l.runtime.NewDynamicObject(g)))
}

// additions are what the engine's library lacks and code counts on: async generators, and
// classes of errors that take their own stack.
var additions = [...]struct{ name, of string }{
	{"asyncIterator", "Symbol"}, {"dispose", "Symbol"}, {"asyncDispose", "Symbol"}, {"captureStackTrace", "Error"},
}

// mentions returns which of the additions are in a source, a bit for each. What a file does
// not mention is not installed for it: each costs a runtime 1.5 KiB.
func mentions(text []byte) (bits uint8) {
	for i, a := range additions {
		if bytes.Contains(text, []byte(a.name)) {
			bits |= 1 << i
		}
	}
	return bits
}

// mentioned is mentions for a file of the bundle, once for all runtimes.
func (l *Loader) mentioned(name string) uint8 {
	return l.options.Unit.Memo("mentions "+name, func() any { return mentions(l.resolver.files[name]) }).(uint8)
}

// install defines what is mentioned and not there yet.
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
