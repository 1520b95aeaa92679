package modules

import (
	"bytes"
	"slices"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// globals is the prototype of the global object, with globals that the language does not have. When a global is first read, it becomes a plain
// property of the global object. Accessors for all of them would take 20 KiB of each runtime.
type globals struct {
	Sealed
	global *goja.Object
	loader *Loader
}

// lazy are the globals of modules: their module and the key in it. Without a key, it is the whole module.
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

func (g *globals) Has(name string) bool {
	_, ok := lazy[name]
	return ok || slices.Contains(g.loader.options.Globals, name)
}

func (l *Loader) enableGlobals() {
	g := &globals{global: l.runtime.GlobalObject(), loader: l}
	must(g.global.DefineDataProperty("global", g.global, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(g.global.DefineDataProperty(compile.PauseName, l.pause, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)) // for text that the script evaluates
	must(g.global.SetPrototype(l.runtime.NewDynamicObject(g)))
}

// additions are what the engine lacks for async generators, and for classes of errors that make their own stack.
var additions = [...]struct{ name, of string }{
	{"asyncIterator", "Symbol"}, {"dispose", "Symbol"}, {"asyncDispose", "Symbol"}, {"captureStackTrace", "Error"},
}

// mentions returns which of the additions a source mentions, a bit for each. Each takes 1.5 KiB of a runtime, so others are not installed.
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

// install defines the additions of bits that are not there yet.
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
