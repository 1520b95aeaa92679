package engine

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
)

// inside returns the struct that has all of an object.
func inside(o *goja.Object) reflect.Value {
	return field(reflect.ValueOf(o).Elem(), "self").Elem().Elem()
}

// fields has the fields of structs, by type and name: reflect takes half a KiB for each search.
var fields sync.Map // from reflect.Type to map[string][]int

// field returns a field of a struct. It is not valid if the struct has none of that name.
func field(of reflect.Value, name string) (f reflect.Value) {
	all, ok := fields.Load(of.Type())
	if !ok {
		found := make(map[string][]int)
		for _, f := range reflect.VisibleFields(of.Type()) {
			found[f.Name] = f.Index
		}
		all, _ = fields.LoadOrStore(of.Type(), found)
	}
	if at, ok := all.(map[string][]int)[name]; ok {
		f = of.FieldByIndex(at)
	}
	return f
}

// fieldOf returns the address of a field. It panics if the field is not of type T, or a map of the same keys and kind of values.
func fieldOf[T any](of reflect.Value, name string) *T {
	f := field(of, name)
	want := reflect.TypeFor[T]()
	if !f.IsValid() || f.Type() != want && !(f.Kind() == reflect.Map && want.Kind() == reflect.Map && f.Type().Key() == want.Key() && f.Type().Elem().Kind() == want.Elem().Kind()) {
		panic(changed("%v has no field %s of type %v", of.Type(), name, want))
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

// changed is what this package panics with when the engine is not as expected.
func changed(format string, args ...any) string {
	return "the engine has changed: " + fmt.Sprintf(format, args...)
}
