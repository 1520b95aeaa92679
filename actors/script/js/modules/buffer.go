package modules

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"
)

func bufferBinding(l *Loader) map[string]any {
	r, b := l.runtime, bytesBinding(l)
	// spaced returns the first bytes in hexadecimal, apart.
	b["spaced"] = native(func(c goja.FunctionCall) goja.Value {
		data := view(c.Argument(0))
		return r.ToValue(fmt.Sprintf("% x", data[:min(int(c.Argument(1).ToInteger()), len(data))]))
	})
	// later puts an object behind a prototype that calls a function when one of the
	// rarer methods is missed; it defines them all.
	b["later"] = native(func(c goja.FunctionCall) goja.Value {
		prototype := c.Argument(0).ToObject(r)
		load, _ := goja.AssertFunction(c.Argument(1))
		o := r.NewDynamicObject(&rarer{runtime: r, prototype: prototype, load: load})
		must(o.SetPrototype(prototype.Prototype()))
		must(prototype.SetPrototype(o))
		return goja.Undefined()
	})
	return b
}

// rarer stands behind Buffer.prototype until one of its methods is asked for.
type rarer struct {
	runtime   *goja.Runtime
	prototype *goja.Object
	load      goja.Callable // nil once it was called
}

// isRarer reports whether a name is that of a method in buffer_more.js.
func isRarer(key string) bool {
	switch key {
	case "compare", "copy", "fill", "indexOf", "lastIndexOf", "includes":
		return true
	}
	return strings.HasPrefix(key, "read") || strings.HasPrefix(key, "write")
}

// Get loads the methods, and returns one of them.
func (o *rarer) Get(key string) goja.Value {
	if o.load == nil || !isRarer(key) {
		return nil
	}
	load := o.load
	o.load = nil
	if _, err := load(goja.Undefined()); err != nil {
		rethrow(o.runtime, err)
	}
	return o.prototype.Get(key)
}

// Has reports whether a method would be there.
func (o *rarer) Has(key string) bool { return o.load != nil && isRarer(key) }

// Set is refused: nothing is kept here.
func (o *rarer) Set(string, goja.Value) bool { return false }

// Delete has nothing to delete.
func (o *rarer) Delete(string) bool { return true }

// Keys are none: what is inherited is not listed.
func (o *rarer) Keys() []string { return nil }
