package modules

import "github.com/dop251/goja"

// Later inserts a dynamic object into the prototype chain, above the prototype c.Argument(0). When a property
// is missing, the dynamic object calls the function c.Argument(1) with its name. That function defines the
// property on the prototype, or returns an object that replaces the dynamic object in the chain, or returns
// false if there is no such property.
func Later(r *goja.Runtime, c goja.FunctionCall) goja.Value {
	prototype := c.Argument(0).ToObject(r)
	call, _ := c.Argument(1).Export().(func(goja.FunctionCall) goja.Value) // a function of the host
	o := r.NewDynamicObject(&later{runtime: r, prototype: prototype, make: call})
	must(o.SetPrototype(prototype.Prototype()))
	must(prototype.SetPrototype(o))
	return goja.Undefined()
}

// later is the dynamic object that the function Later inserts.
type later struct {
	Sealed
	runtime   *goja.Runtime
	prototype *goja.Object
	make      native // nil while it is running, and after it has created everything
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
