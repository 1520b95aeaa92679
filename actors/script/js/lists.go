package js

import (
	"reflect"
	"strconv"

	"github.com/dop251/goja"

	"troupe/actors/script/js/engine"
	"troupe/actors/script/js/modules"
)

// The engine reads the length of a list again after a guard has checked it. A getter, a proxy or an object with valueOf may answer something else
// then, and the engine asks for memory of that size. So a built-in gets a list with the length that was checked.

// pinned returns a list like o whose length stays n. It is o itself if its length stays.
func (h *Handler) pinned(o *goja.Object, n int64) *goja.Object {
	if engine.LengthStays(o) {
		return o
	}
	return h.instead(o, "length", h.vm.ToValue(max(n, 0)))
}

// instead returns an object like o with another value of one property.
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

// list returns an array of the elements of v, checked, for a built-in that reads them. The engine refuses what is no object.
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

// source returns an object with the elements of o, from its iterator or up to n, for a built-in that makes a list of them.
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
		return o // the engine throws
	}
	of := h.vm.NewObject()
	must(of.SetSymbol(goja.SymIterator, h.vm.ToValue(func(goja.FunctionCall) goja.Value {
		return returned(next(o))
	})))
	return of
}

// pinThis checks the list that a built-in is called on, and pins its length. Unpin takes the result, which may be that list.
func (h *Handler) pinThis(c *goja.FunctionCall, what string) (n int64, unpin func(goja.Value) goja.Value) {
	o, ok := c.This.(*goja.Object)
	n = h.boundList(c.This, what)
	if !ok || engine.LengthStays(o) {
		return n, func(v goja.Value) goja.Value { return v }
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

// concat is Array.prototype.concat. An object whose length may change becomes an array of its elements, or of itself.
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
	h.boundList(c.This, "concat") // it stays what it is: its class makes the result
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

// keysOf returns the keys that a list names for JSON.stringify, in their order.
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

// chosen is an object that shows some keys of another one.
type chosen struct {
	modules.Sealed
	of   *goja.Object
	keys []string
}

func (c *chosen) Get(name string) goja.Value { return c.of.Get(name) }
func (c *chosen) Has(name string) bool       { return c.of.Get(name) != nil }
func (c *chosen) Keys() []string             { return c.keys }
