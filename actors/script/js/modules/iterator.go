package modules

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// The engine's kinds of iterators.
const (
	iterationKeys = iota
	iterationValues
	iterationPairs
)

// left calls f for what an iterator of a Map or Set has still to give, until it says no;
// the iterator stays where it is. The engine tells nobody, so this looks into it: were
// it made differently, nothing would be left.
func left(o *goja.Object, f func(key, value goja.Value) bool) (pairs bool) {
	self := reflect.ValueOf(o).Elem().FieldByName("self").Elem()
	if self.Kind() != reflect.Pointer || self.Elem().Kind() != reflect.Struct {
		return false
	}
	object := self.Elem()
	kind, iterator := object.FieldByName("kind"), object.FieldByName("iter")
	if !kind.IsValid() || !iterator.IsValid() {
		return false
	}
	pairs = kind.Int() == iterationPairs
	second := "value"
	if object.Type().Name() == "setIterObject" {
		second = "key"
	}
	if iterator.IsNil() {
		return pairs
	}
	entries, at := iterator.Elem().FieldByName("m"), iterator.Elem().FieldByName("cur")
	if entries.IsNil() {
		return pairs
	}
	// One that was deleted has no key, and leads to one before it that was not.
	for !at.IsNil() && valueOf(at, "key") == nil {
		at = at.Elem().FieldByName("iterPrev")
	}
	if at.IsNil() {
		at = entries.Elem().FieldByName("iterFirst")
	} else {
		at = at.Elem().FieldByName("iterNext")
	}
	first := "key"
	if kind.Int() == iterationValues {
		first = second
	}
	for ; !at.IsNil(); at = at.Elem().FieldByName("iterNext") {
		if !f(valueOf(at, first), valueOf(at, second)) {
			break
		}
	}
	return pairs
}

// valueOf reads a field of the entry that p points to.
func valueOf(p reflect.Value, field string) goja.Value {
	return *(*goja.Value)(unsafe.Pointer(p.Elem().FieldByName(field).UnsafeAddr()))
}

// iteratorBinding is for inspect: it returns whether pairs are given, how many there are
// still, and so many of them as are asked for, one after the other.
func iteratorBinding(r *goja.Runtime) native {
	return func(c goja.FunctionCall) goja.Value {
		most, n := c.Argument(1).ToInteger(), int64(0)
		var list []any
		pairs := left(c.Argument(0).(*goja.Object), func(key, value goja.Value) bool {
			if n++; n <= most {
				list = append(list, key, value)
			}
			return true
		})
		return r.NewArray(pairs, n, r.NewArray(list...))
	}
}
