package engine

import (
	"path"
	"reflect"

	"github.com/dop251/goja"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/unistring"
)

// Native is what a function does. Called like this, and not by the engine, it leaves promise jobs to the caller, and panics with what it throws.
type Native = func(goja.FunctionCall) goja.Value

// Construct is what a constructor does with new.
type Construct = func(args []goja.Value, newTarget *goja.Object) *goja.Object

// Function returns what a built-in function does, to be called or replaced; nil if o is no built-in function.
func Function(o *goja.Object) *Native {
	in := inside(o)
	if !field(in, "f").IsValid() {
		return nil
	}
	return fieldOf[Native](in, "f")
}

// Constructor is Function for what a built-in function does with new. It points to nil if that is nothing.
func Constructor(o *goja.Object) *Construct {
	return fieldOf[Construct](inside(o), "construct")
}

// Part is a part of a property that may be an object.
type Part string

// Parts of a property.
const (
	Value  Part = "value"
	Getter Part = "getterFunc"
	Setter Part = "setterFunc"
)

// Objects returns the object that a property is, or else those in some of its parts.
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

// Object returns the object that a property is or has in a part. It panics if there is none.
func Object(property goja.Value, part Part) *goja.Object {
	if o := Objects(property, part); len(o) > 0 {
		return o[0]
	}
	panic(changed("a property has no object as its %s", part))
}

// Members returns the properties of an object that has them itself, to be read; nil for one that has a template or is of another kind.
func Members(o *goja.Object) map[unistring.String]goja.Value {
	in := inside(o)
	if field(in, "tmpl").IsValid() || field(in, "values").Kind() != reflect.Map {
		return nil
	}
	return *fieldOf[map[unistring.String]goja.Value](in, "values")
}

// Place returns where a function of a script begins: the name of the file without its folders, and the line.
func Place(f *goja.Object) (name string, line int, ok bool) {
	code := field(inside(f), "prg")
	if !code.IsValid() || code.IsNil() || field(code.Elem(), "srcMap").Len() == 0 {
		return "", 0, false
	}
	offset := field(field(code.Elem(), "srcMap").Index(0), "srcPos").Int()
	at := (*fieldOf[*file.File](code.Elem(), "src")).Position(int(offset))
	return path.Base(at.Filename), at.Line, true
}
