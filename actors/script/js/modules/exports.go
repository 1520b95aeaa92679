package modules

import (
	"slices"

	"github.com/dop251/goja"
)

// export is a property of a module that is loaded when it is used.
type export struct {
	name, source string
	key          string // in what source exports; empty: all of it
}

// utilExports are those of util, in Node's order.
var utilExports = func() (list []export) {
	add := func(source string, names ...string) {
		for _, name := range names {
			list = append(list, export{name, source, name})
		}
	}
	add("inspect", "inspect")
	add("format", "format")
	add("util_functions", "promisify", "inherits", "deprecate", "debuglog", "isDeepStrictEqual", "isArray")
	add("encoding", "TextEncoder", "TextDecoder")
	return append(list, export{"types", "util_types", ""})
}()

// listed are the modules that are no more than a list of exports.
func listed(name string) []export {
	if name == "util" {
		return utilExports
	}
	return nil
}

// exports is an object whose properties are loaded when they are used. To scripts it
// is one with plain properties, which may be set and deleted; they cannot be made
// read-only, nor accessors.
type exports struct {
	loader *Loader
	module string
	list   []export
	values map[string]goja.Value // that were used or set; nil: deleted
	added  []string              // names that are not of the list, in order
}

var _ goja.DynamicObject = (*exports)(nil)

func (e *exports) find(name string) int {
	return slices.IndexFunc(e.list, func(x export) bool { return x.name == name })
}

// Get implements goja.DynamicObject.
func (e *exports) Get(name string) goja.Value {
	if v, ok := e.values[name]; ok {
		return v
	}
	i := e.find(name)
	if i < 0 {
		return e.loader.absentMember(e.module, name)
	}
	v := e.loader.Builtin(e.list[i].source)
	if key := e.list[i].key; key != "" {
		v = v.ToObject(e.loader.runtime).Get(key)
	}
	e.put(name, v)
	return v
}

func (e *exports) put(name string, v goja.Value) {
	if e.values == nil {
		e.values = make(map[string]goja.Value)
	}
	e.values[name] = v
}

// Set implements goja.DynamicObject.
func (e *exports) Set(name string, v goja.Value) bool {
	if e.find(name) < 0 && !slices.Contains(e.added, name) {
		e.added = append(e.added, name)
	}
	e.put(name, v)
	return true
}

// Has implements goja.DynamicObject.
func (e *exports) Has(name string) bool {
	if v, ok := e.values[name]; ok {
		return v != nil
	}
	return e.find(name) >= 0
}

// Delete implements goja.DynamicObject.
func (e *exports) Delete(name string) bool {
	if e.find(name) >= 0 {
		e.put(name, nil)
	} else if i := slices.Index(e.added, name); i >= 0 {
		e.added = slices.Delete(e.added, i, i+1)
		delete(e.values, name)
	}
	return true
}

// Keys implements goja.DynamicObject.
func (e *exports) Keys() []string {
	names := make([]string, 0, len(e.list)+len(e.added))
	for _, x := range e.list {
		if e.Has(x.name) {
			names = append(names, x.name)
		}
	}
	return append(names, e.added...)
}
