package modules

import (
	"slices"

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

// lazyIndex is lazy by name.
var lazyIndex = func() map[string][2]string {
	index := make(map[string][2]string, len(lazy))
	for _, names := range lazy {
		index[names[0]] = [2]string{names[1], names[2]}
	}
	return index
}()

var _ goja.DynamicObject = (*globals)(nil)

// Get implements goja.DynamicObject.
func (g *globals) Get(name string) goja.Value {
	var v goja.Value
	if source, ok := lazyIndex[name]; ok {
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

// Set implements goja.DynamicObject; the global object itself takes what is set there.
func (g *globals) Set(string, goja.Value) bool { return false }

// Has implements goja.DynamicObject.
func (g *globals) Has(name string) bool {
	_, ok := lazyIndex[name]
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

// symbols adds the well-known symbols that the engine lacks, before code runs that
// may use them: the class Symbol takes 7 KiB, which few scripts need.
func (l *Loader) symbols() {
	if l.hasSymbols {
		return
	}
	l.hasSymbols = true
	if symbols := l.runtime.Get("Symbol").ToObject(l.runtime); symbols.Get("asyncIterator") == nil {
		for _, name := range []string{"asyncIterator", "dispose", "asyncDispose"} {
			must(symbols.DefineDataProperty(name, goja.NewSymbol("Symbol."+name), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
		}
	}
}
