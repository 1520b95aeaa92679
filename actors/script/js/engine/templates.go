package engine

import (
	"reflect"
	"slices"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// Factory creates a property in one runtime, when the script first reads it.
type Factory = func(*goja.Runtime) goja.Value

// Change modifies a property that a Factory has created.
type Change = func(r *goja.Runtime, made goja.Value)

// Template creates the properties of one built-in object in all runtimes of the process. Changing a template
// costs nothing in runtimes whose scripts do not use the property. Changing the object in each runtime
// instead would take tens of KiB per runtime.
type Template struct {
	properties map[unistring.String]Factory
	symbols    map[*goja.Symbol]Factory
	names      *[]unistring.String
}

// TemplateOf returns the template of a built-in object of any runtime.
func TemplateOf(o *goja.Object) Template {
	t := field(inside(o), "tmpl")
	if t.Kind() != reflect.Pointer {
		panic(changed("no template of %s", o.ClassName()))
	}
	return Template{
		*fieldOf[map[unistring.String]Factory](t.Elem(), "props"),
		*fieldOf[map[*goja.Symbol]Factory](t.Elem(), "symProps"),
		fieldOf[[]unistring.String](t.Elem(), "propNames"),
	}
}

// Factory returns the factory of a property. It panics if there is none.
func (t Template) Factory(name string) Factory {
	f := t.properties[unistring.NewFromString(name)]
	if f == nil {
		panic(changed("no built-in %s", name))
	}
	return f
}

// Change makes runtimes call by when they create the property name.
func (t Template) Change(name string, by Change) {
	t.properties[unistring.NewFromString(name)] = changing(t.Factory(name), by)
}

// ChangeSymbol is Change for a property whose key is a symbol.
func (t Template) ChangeSymbol(symbol *goja.Symbol, by Change) {
	t.symbols[symbol] = changing(t.symbols[symbol], by)
}

// ChangeAll is Change for all properties.
func (t Template) ChangeAll(by Change) {
	for name, made := range t.properties {
		t.properties[name] = changing(made, by)
	}
	for symbol, made := range t.symbols {
		t.symbols[symbol] = changing(made, by)
	}
}

// Drop removes a property.
func (t Template) Drop(name string) {
	key := unistring.NewFromString(name)
	delete(t.properties, key)
	*t.names = slices.DeleteFunc(slices.Clone(*t.names), func(n unistring.String) bool { return n == key })
}

func changing(made Factory, by Change) Factory {
	return func(r *goja.Runtime) goja.Value {
		v := made(r)
		by(r, v)
		return v
	}
}
