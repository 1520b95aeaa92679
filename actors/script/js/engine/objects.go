package engine

import (
	"reflect"

	"github.com/dop251/goja"
)

// Sizes of parts of lists and objects, in bytes.
const (
	ValueSize = 16 // an element of a list
	EntrySize = 64 // an entry of a map, or the name of a property
)

// LengthStays reports whether the length of an object cannot change until its script runs again. Reading such
// a length runs no script code.
func LengthStays(o *goja.Object) bool {
	in := inside(o)
	switch in.Type().Name() {
	case "arrayObject", "sparseArrayObject", "stringObject":
		return true
	case "baseObject", "argumentsObject":
		values := field(in, "values")
		v := values.MapIndex(reflect.ValueOf("length").Convert(values.Type().Key()))
		if !v.IsValid() || v.IsNil() {
			return false
		}
		v = v.Elem()
		if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
			if accessor := field(v.Elem(), "accessor"); accessor.IsValid() { // a property; the value is one of its fields
				if v = field(v.Elem(), "value"); accessor.Bool() || v.IsNil() {
					return false
				}
				v = v.Elem()
			}
		}
		return v.Type() != objectType
	}
	return false
}

// Elements returns the number of elements of an array or a typed array, and 0 for any other value. For a
// sparse array, it is the length.
func Elements(v goja.Value) int64 {
	o, ok := v.(*goja.Object)
	if !ok {
		return 0
	}
	switch in := inside(o); in.Type().Name() {
	case "arrayObject", "sparseArrayObject":
		return o.Get("length").ToInteger()
	case "typedArrayObject":
		return field(in, "length").Int()
	}
	return 0
}

// Entries returns the number of entries of a Map or Set, and 0 for any other value.
func Entries(v goja.Value) int64 {
	if o, ok := v.(*goja.Object); ok {
		switch in := inside(o); in.Type().Name() {
		case "mapObject", "setObject":
			return field(field(in, "m").Elem(), "size").Int()
		}
	}
	return 0
}

// List returns the elements of an array, for reading or replacing. It returns nil for any other object, and
// for a sparse array.
func List(o *goja.Object) []goja.Value {
	if in := inside(o); in.Type().Name() == "arrayObject" {
		return *fieldOf[[]goja.Value](in, "values")
	}
	return nil
}

// HoldsBytes reports whether an object is an ArrayBuffer or a typed array.
func HoldsBytes(o *goja.Object) bool {
	name := inside(o).Type().Name()
	return name == "typedArrayObject" || name == "arrayBufferObject"
}

// Bytes estimates the size in bytes of an array, an ArrayBuffer or a plain object, without the values of its
// elements. It returns 0 for any other object.
func Bytes(o *goja.Object) int64 {
	switch in := inside(o); in.Type().Name() {
	case "arrayObject":
		return int64(field(in, "values").Cap()) * ValueSize
	case "arrayBufferObject":
		return int64(field(in, "data").Cap())
	case "baseObject":
		return int64(field(in, "propNames").Len()) * EntrySize
	}
	return 0
}

// ASCII reports whether the engine stores a text with one byte per character. Substrings of such a text share
// its memory.
func ASCII(s goja.String) bool { return reflect.TypeOf(s).Kind() == reflect.String }

// Stack returns the stack of an Error object, for reading or replacing.
func Stack(e *goja.Object) *[]goja.StackFrame { return fieldOf[[]goja.StackFrame](inside(e), "stack") }
