package modules

import "github.com/dop251/goja"

// Later gives a prototype another prototype, which calls make for each property that is missing. Make defines the property, or returns an object to
// replace this prototype, or false if there is no such property.
func Later(r *goja.Runtime, c goja.FunctionCall) goja.Value {
	prototype := c.Argument(0).ToObject(r)
	call, _ := c.Argument(1).Export().(func(goja.FunctionCall) goja.Value) // of the host
	o := r.NewDynamicObject(&later{runtime: r, prototype: prototype, make: call})
	must(o.SetPrototype(prototype.Prototype()))
	must(prototype.SetPrototype(o))
	return goja.Undefined()
}

// later has no properties of its own.
type later struct {
	Sealed
	runtime   *goja.Runtime
	prototype *goja.Object
	make      native // nil while it runs, and once all is made
}

func (o *later) Get(name string) goja.Value {
	call := o.make
	if call == nil {
		return nil
	}
	o.make = nil
	made := call(goja.FunctionCall{This: goja.Undefined(), Arguments: []goja.Value{o.runtime.ToValue(name)}})
	if next, ok := made.(*goja.Object); ok {
		must(o.prototype.SetPrototype(next))
		return o.prototype.Get(name)
	}
	var v goja.Value
	if !made.StrictEquals(o.runtime.ToValue(false)) {
		v = o.prototype.Get(name)
	}
	o.make = call
	return v
}

func (o *later) Has(name string) bool { return o.Get(name) != nil }
