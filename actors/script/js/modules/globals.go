package modules

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// globals is the prototype of the global object: what a script looks for there and
// the language does not have. It makes a global when it is first read, which becomes
// a plain property of the global object then; accessors for all of them would take
// 20 KiB of each runtime.
type globals struct {
	global *goja.Object
	loader *Loader
}

// lazy are the globals of modules by name: module and key; without a key it is the
// whole module.
var lazy = map[string][2]string{
	"Buffer":               {"buffer", "Buffer"},
	"atob":                 {"buffer", "atob"},
	"btoa":                 {"buffer", "btoa"},
	"console":              {"console", ""},
	"process":              {"process", ""},
	"URL":                  {"url", "URL"},
	"URLSearchParams":      {"url", "URLSearchParams"},
	"TextEncoder":          {"encoding", "TextEncoder"},
	"TextDecoder":          {"encoding", "TextDecoder"},
	"performance":          {"perf_hooks", "performance"},
	"crypto":               {"crypto", "webcrypto"},
	"structuredClone":      {"clone", "structuredClone"},
	"queueMicrotask":       {"clone", "queueMicrotask"},
	"Event":                {"event_target", "Event"},
	"EventTarget":          {"event_target", "EventTarget"},
	"AbortController":      {"event_target", "AbortController"},
	"AbortSignal":          {"event_target", "AbortSignal"},
	"WeakRef":              {"polyfill", "WeakRef"},
	"FinalizationRegistry": {"polyfill", "FinalizationRegistry"},
}

var _ goja.DynamicObject = (*globals)(nil)

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
		g.loader.setPromisify(name, v)
	} else {
		return nil
	}
	must(g.global.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return v
}

// Set implements goja.DynamicObject; the global object itself takes what is set there.
func (g *globals) Set(string, goja.Value) bool { return false }

// Has implements goja.DynamicObject.
func (g *globals) Has(name string) bool {
	_, ok := lazy[name]
	return ok || slices.Contains(g.loader.options.Globals, name)
}

// Delete implements goja.DynamicObject.
func (g *globals) Delete(string) bool { return false }

// Keys implements goja.DynamicObject.
func (g *globals) Keys() []string { return nil }

// enableGlobals gives the runtime the globals of modules and those of the engine.
func (l *Loader) enableGlobals() {
	g := &globals{l.runtime.GlobalObject(), l}
	must(g.global.DefineDataProperty("global", g.global, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(g.global.SetPrototype(l.runtime.NewDynamicObject(g)))
}

// extras are parts of the library that the engine lacks: name, the object it belongs
// to, module and key.
var extras = [...]struct{ name, of, module, key string }{
	{"groupBy", "Object", "polyfill", "groupBy"}, {"groupBy", "Map", "polyfill", "mapGroupBy"},
	{"withResolvers", "Promise", "polyfill", "withResolvers"}, {"try", "Promise", "polyfill", "promiseTry"},
	{"fromAsync", "Array", "polyfill", "fromAsync"},
	{"isWellFormed", "String.prototype", "polyfill", "isWellFormed"}, {"toWellFormed", "String.prototype", "polyfill", "toWellFormed"},
	{"toLocaleString", "Number.prototype", localeModule, "number"}, {"toLocaleString", "BigInt.prototype", localeModule, "bigint"},
	{"toLocaleString", "Date.prototype", localeModule, "moment"}, {"toLocaleDateString", "Date.prototype", localeModule, "date"},
	{"toLocaleTimeString", "Date.prototype", localeModule, "time"}, {"localeCompare", "String.prototype", localeModule, "compare"},
	{"asyncIterator", "Symbol", "", ""}, {"dispose", "Symbol", "", ""}, {"asyncDispose", "Symbol", "", ""},
	{"captureStackTrace", "Error", "", ""}, {"stackTraceLimit", "Error", "", ""},
	{"RegExp", "globalThis", "regexp", ""}, {"$1", "RegExp", "regexp_last", ""},
}

// lastMatch is how a file asks for what RegExp has of the last match.
var lastMatch = regexp.MustCompile(`RegExp(\.(\$|last|left|right|input)|\[['"]\$)`)

// localeModule stands for the functions of localized, which take the place of the
// engine's.
const localeModule = "locale"

// symbols are those of extras that belong to Symbol; the built-in modules need no
// others.
var symbols = func() (bits uint64) {
	for i, g := range extras {
		if g.of == "Symbol" {
			bits |= 1 << i
		}
	}
	return bits
}()

// mentions returns which of extras are in a source, a bit for each. What a file does
// not mention is not installed for it: each costs a runtime 1.5 KiB and more.
func mentions(text []byte) (bits uint64) {
	for i, g := range extras {
		name := g.name
		if name == "try" {
			name = "Promise.try"
		}
		if name == "$1" && lastMatch.Match(text) || name != "$1" && bytes.Contains(text, []byte(name)) {
			bits |= 1 << i
		}
	}
	return bits
}

// mentioned is mentions for a file of the bundle, once for all runtimes.
func (l *Loader) mentioned(name string) uint64 {
	return l.options.Unit.Memo("mentions "+name, func() any { return mentions(l.resolver.files[name]) }).(uint64)
}

// install defines what is mentioned and not there yet.
func (l *Loader) install(bits uint64) {
	bits &^= l.have
	if bits == 0 {
		return
	}
	l.have |= bits
	for i, g := range extras {
		if bits&(1<<i) == 0 {
			continue
		}
		class, prototype := strings.CutSuffix(g.of, ".prototype")
		object := l.runtime.Get(class).ToObject(l.runtime)
		if prototype {
			object = object.Get("prototype").ToObject(l.runtime)
		}
		if g.module == localeModule {
			l.localize(object, g.name, localized[g.key])
			continue
		}
		if class == "globalThis" {
			must(object.DefineDataProperty(g.name, l.Builtin(g.module), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
			continue
		}
		if v := object.Get(g.name); v != nil && !goja.IsUndefined(v) {
			continue
		}
		switch {
		case g.module == "regexp_last":
			l.Builtin(g.module)
		case g.module != "":
			l.define(object, g.name, g.module, g.key)
		case g.of == "Symbol":
			must(object.DefineDataProperty(g.name, goja.NewSymbol("Symbol."+g.name), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
		case g.name == "stackTraceLimit":
			must(object.Set(g.name, 10))
		default:
			must(object.DefineDataProperty(g.name, l.runtime.ToValue(l.captureStackTrace), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
		}
	}
}

// localize defines a method of localized.
func (l *Loader) localize(object *goja.Object, name string, method func(*Loader, goja.FunctionCall) goja.Value) {
	f := l.runtime.ToValue(func(c goja.FunctionCall) goja.Value { return method(l, c) }).ToObject(l.runtime)
	must(f.DefineDataProperty("name", l.runtime.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	if name == "localeCompare" {
		must(f.DefineDataProperty("length", l.runtime.ToValue(1), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	must(object.DefineDataProperty(name, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// define makes a property that loads a module when it is read, and becomes a plain
// one then, or when it is written.
func (l *Loader) define(object *goja.Object, name, module, key string) {
	plain := func(v goja.Value) {
		must(object.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	get := func(goja.FunctionCall) goja.Value {
		v := l.Builtin(module)
		if key != "" {
			v = v.ToObject(l.runtime).Get(key)
		}
		plain(v)
		return v
	}
	set := func(c goja.FunctionCall) goja.Value {
		plain(c.Argument(0))
		return goja.Undefined()
	}
	must(object.DefineAccessorProperty(name, l.runtime.ToValue(get), l.runtime.ToValue(set), goja.FLAG_TRUE, goja.FLAG_FALSE))
}
