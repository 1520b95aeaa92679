package js

import (
	"reflect"
	"strconv"

	"github.com/dop251/goja"

	"troupe/actors/script/js/engine"
	"troupe/actors/script/js/modules"
)

// The engine reads the length of a list again after a guard has checked it. A getter, a proxy or an object
// with valueOf may return another length then, and the engine would allocate memory for it. So a built-in
// gets a list whose length is pinned to the checked value.

// pinned returns a view of o whose length is always n. If the length of o cannot change, it returns o itself.
func (h *Handler) pinned(o *goja.Object, n int64) *goja.Object {
	if engine.LengthStays(o) {
		return o
	}
	return h.instead(o, "length", h.vm.ToValue(max(n, 0)))
}

// instead returns a view of o in which one property has another value.
func (h *Handler) instead(o *goja.Object, name string, v goja.Value) *goja.Object {
	return h.vm.ToValue(h.vm.NewProxy(o, &goja.ProxyTrapConfig{
		Get: func(target *goja.Object, property string, _ goja.Value) goja.Value {
			if property == name {
				return v
			}
			return propertyOf(target, property)
		},
		GetIdx: func(target *goja.Object, i int, _ goja.Value) goja.Value { return propertyOf(target, strconv.Itoa(i)) },
	})).(*goja.Object)
}

// list copies the elements of v to an array after checking the length, for a built-in that reads them. If the
// length cannot change, or v is not an object, it returns v. The engine refuses values that are not objects.
func (h *Handler) list(v goja.Value, what string) goja.Value {
	n := h.boundList(v, what)
	o, ok := v.(*goja.Object)
	if !ok || engine.LengthStays(o) {
		return v
	}
	all := make([]any, max(n, 0))
	for i := range all {
		h.lookAt(int64(i))
		all[i] = propertyOf(o, strconv.Itoa(i))
	}
	return h.vm.NewArray(all...)
}

// source returns a view of o for a built-in that creates a list from it. The view iterates with the iterator
// of o if o has one; otherwise its length is pinned to n.
func (h *Handler) source(o *goja.Object, n int64) *goja.Object {
	if engine.LengthStays(o) {
		return o
	}
	iterate := o.GetSymbol(goja.SymIterator)
	if iterate == nil || goja.IsUndefined(iterate) || goja.IsNull(iterate) {
		view := h.vm.NewObject()
		must(view.SetPrototype(h.pinned(o, n)))
		must(view.SetSymbol(goja.SymIterator, goja.Undefined()))
		return view
	}
	next, ok := goja.AssertFunction(iterate)
	if !ok {
		return o // the engine will throw
	}
	of := h.vm.NewObject()
	must(of.SetSymbol(goja.SymIterator, h.vm.ToValue(func(goja.FunctionCall) goja.Value {
		return returned(next(o))
	})))
	return of
}

// pinThis checks the length of the list on which a built-in is called, and pins it. unpin converts the result
// of the built-in: if it is the pinned view, it returns the original list.
func (h *Handler) pinThis(c *goja.FunctionCall, what string) (n int64, unpin func(goja.Value) goja.Value) {
	o, ok := c.This.(*goja.Object)
	if ok {
		if list, rest := engine.ListOf(o); rest != nil && int64(len(list)) <= h.listMax() { // nearly always
			return int64(len(list)), unchanged
		}
	}
	n = h.boundList(c.This, what)
	if !ok || engine.LengthStays(o) {
		return n, unchanged
	}
	view := h.pinned(o, n)
	c.This = view
	return n, func(v goja.Value) goja.Value {
		if v == goja.Value(view) {
			return o
		}
		return v
	}
}

func unchanged(v goja.Value) goja.Value { return v }

// concat implements Array.prototype.concat. It first converts objects whose length may change to arrays: an
// array of the elements if the object is spreadable, or an array with the object as its only element.
func (h *Handler) concat(call native, c goja.FunctionCall) goja.Value {
	total := int64(0)
	add := func(v goja.Value) goja.Value {
		o, ok := v.(*goja.Object)
		if !ok {
			return v
		}
		if !engine.LengthStays(o) {
			spread := o.GetSymbol(goja.SymIsConcatSpreadable)
			if spread == nil || goja.IsUndefined(spread) {
				spread = h.vm.ToValue(isArray(o))
			}
			if spread.ToBoolean() {
				v = h.list(o, "concat")
			} else {
				v = h.vm.NewArray(o)
			}
		}
		if total += h.boundList(v, "concat"); total > h.listMax() {
			panic(h.tooLong(total, "concat"))
		}
		return v
	}
	h.boundList(c.This, "concat") // c.This is not converted, because its class determines the class of the result
	if o, ok := c.This.(*goja.Object); ok && !engine.LengthStays(o) {
		c.Arguments = append([]goja.Value{o}, c.Arguments...)
		c.This = h.vm.NewArray()
	}
	for i, v := range c.Arguments {
		c.Arguments[i] = add(v)
	}
	if total += h.boundList(c.This, "concat"); total > h.listMax() {
		panic(h.tooLong(total, "concat"))
	}
	return call(c)
}

// keysOf returns the keys in a replacer list of JSON.stringify, in order and without duplicates.
func (h *Handler) keysOf(list *goja.Object) []string {
	n := h.boundList(list, "JSON.stringify")
	keys, seen := make([]string, 0, min(max(n, 0), 1024)), make(map[string]bool)
	for i := range n {
		h.lookAt(i)
		v := list.Get(indexText(i))
		switch x := v.(type) {
		case nil:
			continue
		case *goja.Object:
			if name := x.ClassName(); name != "Number" && name != "String" {
				continue
			}
		default:
			if _, text := v.(goja.String); !text && v.ExportType().Kind() != reflect.Int64 && v.ExportType().Kind() != reflect.Float64 {
				continue
			}
		}
		if key := h.toText(v).String(); !seen[key] {
			seen[key], keys = true, append(keys, key)
		}
	}
	return keys
}

// chosen is a view of an object that shows only some of its keys.
type chosen struct {
	modules.Sealed
	of   *goja.Object
	keys []string
}

func (c *chosen) Get(name string) goja.Value { return c.of.Get(name) }
func (c *chosen) Has(name string) bool       { return c.of.Get(name) != nil }
func (c *chosen) Keys() []string             { return c.keys }
