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

// LengthStays reports whether the length of an object is the same each time it is read, until its script runs again: reading it runs no code of a script.
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
			if accessor := field(v.Elem(), "accessor"); accessor.IsValid() { // a property, with the value in it
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

// Elements returns how many elements an array, or an array of bytes or numbers, has at most; 0 for any other value.
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

// Entries returns how many entries a map or a set has; 0 for any other value.
func Entries(v goja.Value) int64 {
	if o, ok := v.(*goja.Object); ok {
		switch in := inside(o); in.Type().Name() {
		case "mapObject", "setObject":
			return field(field(in, "m").Elem(), "size").Int()
		}
	}
	return 0
}

// List returns the elements of an array, to be read or replaced; nil for any other object, and for an array that is nearly empty.
func List(o *goja.Object) []goja.Value {
	if in := inside(o); in.Type().Name() == "arrayObject" {
		return *fieldOf[[]goja.Value](in, "values")
	}
	return nil
}

// HoldsBytes reports whether an object is an ArrayBuffer, or an array of bytes or numbers of one.
func HoldsBytes(o *goja.Object) bool {
	name := inside(o).Type().Name()
	return name == "typedArrayObject" || name == "arrayBufferObject"
}

// Bytes estimates how many bytes an array, an ArrayBuffer or a plain object takes, without what is in its elements; 0 for any other object.
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

// ASCII reports whether the engine has a text as one byte for each character. Pieces of such a text are no copies.
func ASCII(s goja.String) bool { return reflect.TypeOf(s).Kind() == reflect.String }

// Stack returns the stack of an object of class Error, to be read or replaced.
func Stack(e *goja.Object) *[]goja.StackFrame { return fieldOf[[]goja.StackFrame](inside(e), "stack") }
