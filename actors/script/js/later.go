package js

import "github.com/dop251/goja"

// makeLater is host.later(prototype, make): it puts an object behind a prototype that
// calls make when a property is missed.
func (h *Handler) makeLater(c goja.FunctionCall) goja.Value {
	prototype := c.Argument(0).ToObject(h.vm)
	call, _ := c.Argument(1).Export().(func(goja.FunctionCall) goja.Value)
	o := h.vm.NewDynamicObject(&later{h: h, prototype: prototype, make: call})
	if err := o.SetPrototype(prototype.Prototype()); err != nil {
		panic(err)
	}
	if err := prototype.SetPrototype(o); err != nil {
		panic(err)
	}
	return goja.Undefined()
}

// later has no properties of its own: it makes those of the prototype before it, or gives
// way to an object that has them.
type later struct {
	h         *Handler
	prototype *goja.Object
	make      native // nil while it runs, and once all is made
}

var _ goja.DynamicObject = (*later)(nil)

// Get implements goja.DynamicObject.
func (o *later) Get(name string) goja.Value {
	call := o.make
	if call == nil {
		return nil
	}
	o.make = nil
	made := call(goja.FunctionCall{This: goja.Undefined(), Arguments: []goja.Value{o.h.vm.ToValue(name)}})
	if next, ok := made.(*goja.Object); ok {
		if err := o.prototype.SetPrototype(next); err != nil {
			panic(err)
		}
		return next.Get(name)
	}
	v := o.prototype.Get(name)
	o.make = call
	return v
}

// Has implements goja.DynamicObject.
func (o *later) Has(name string) bool { return o.Get(name) != nil }

// Set implements goja.DynamicObject.
func (o *later) Set(string, goja.Value) bool { return false }

// Delete implements goja.DynamicObject.
func (o *later) Delete(string) bool { return true }

// Keys implements goja.DynamicObject.
func (o *later) Keys() []string { return nil }
