package engine

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
)

// inside returns the struct that implements an object.
func inside(o *goja.Object) reflect.Value {
	return field(reflect.ValueOf(o).Elem(), "self").Elem().Elem()
}

// fields caches the fields of structs by type and name: each lookup by reflect allocates half a KiB.
var fields sync.Map // from reflect.Type to map[string][]int

// field returns a field of a struct, or the zero reflect.Value if there is no field of that name.
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

// fieldOf returns the address of a field. It panics if the type of the field is not T. Two map types are
// considered equal if their key types and the kinds of their values are equal.
func fieldOf[T any](of reflect.Value, name string) *T {
	f := field(of, name)
	want := reflect.TypeFor[T]()
	if !f.IsValid() || f.Type() != want && !(f.Kind() == reflect.Map && want.Kind() == reflect.Map && f.Type().Key() == want.Key() && f.Type().Elem().Kind() == want.Elem().Kind()) {
		panic(changed("%v has no field %s of type %v", of.Type(), name, want))
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

// changed returns the panic message for an engine that differs from what this package expects.
func changed(format string, args ...any) string {
	return "the engine has changed: " + fmt.Sprintf(format, args...)
}
