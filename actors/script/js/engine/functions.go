package engine

import (
	"path"
	"reflect"

	"github.com/dop251/goja"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/unistring"
)

// Native is the Go implementation of a function. A direct call of it, unlike a call by the engine, does not
// run promise jobs, and panics with the value that the function throws.
type Native = func(goja.FunctionCall) goja.Value

// Construct is the Go implementation of a constructor called with new.
type Construct = func(args []goja.Value, newTarget *goja.Object) *goja.Object

// Function returns a pointer to the implementation of a built-in function, so that it can be called or
// replaced. It returns nil if o is not a built-in function.
func Function(o *goja.Object) *Native {
	in := inside(o)
	if !field(in, "f").IsValid() {
		return nil
	}
	return fieldOf[Native](in, "f")
}

// Constructor returns a pointer to the implementation of a built-in function called with new. The
// implementation is nil if o is not a constructor.
func Constructor(o *goja.Object) *Construct {
	return fieldOf[Construct](inside(o), "construct")
}

// Part names a field of a property that may contain an object.
type Part string

// The parts of a property.
const (
	Value  Part = "value"
	Getter Part = "getterFunc"
	Setter Part = "setterFunc"
)

// Objects returns property itself if it is an object. Otherwise it returns the objects in the given parts of
// the property.
func Objects(property goja.Value, parts ...Part) (objects []*goja.Object) {
	if o, ok := property.(*goja.Object); ok {
		return []*goja.Object{o}
	}
	p := reflect.ValueOf(property)
	if p.Kind() != reflect.Pointer || p.Elem().Kind() != reflect.Struct {
		return nil
	}
	for _, part := range parts {
		f := field(p.Elem(), string(part))
		if f.IsValid() && f.Kind() == reflect.Interface {
			f = f.Elem()
		}
		if f.IsValid() && f.Type() == objectType && !f.IsNil() {
			objects = append(objects, (*goja.Object)(f.UnsafePointer()))
		}
	}
	return objects
}

var objectType = reflect.TypeFor[*goja.Object]()

// Object returns the first object that Objects returns for property and part. It panics if there is none.
func Object(property goja.Value, part Part) *goja.Object {
	if o := Objects(property, part); len(o) > 0 {
		return o[0]
	}
	panic(changed("a property has no object as its %s", part))
}

// Members returns the properties of an object for reading. It returns nil if the object has a template or
// stores its properties differently.
func Members(o *goja.Object) map[unistring.String]goja.Value {
	in := inside(o)
	if field(in, "tmpl").IsValid() || field(in, "values").Kind() != reflect.Map {
		return nil
	}
	return *fieldOf[map[unistring.String]goja.Value](in, "values")
}

// Place returns where a function of a script begins: the base name of the file, and the line.
func Place(f *goja.Object) (name string, line int, ok bool) {
	code := field(inside(f), "prg")
	if !code.IsValid() || code.IsNil() || field(code.Elem(), "srcMap").Len() == 0 {
		return "", 0, false
	}
	offset := field(field(code.Elem(), "srcMap").Index(0), "srcPos").Int()
	at := (*fieldOf[*file.File](code.Elem(), "src")).Position(int(offset))
	return path.Base(at.Filename), at.Line, true
}
