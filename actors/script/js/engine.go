package js

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"unsafe"
	"weak"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// The engine has no hook for its built-ins, and to replace them in each runtime takes tens of
// KiB of it. But all runtimes make most built-ins from templates that they share, when a script
// first asks for one. So the templates are changed, once in the process: what they make is
// guarded in place, and costs nothing until then. All that this file reads and writes of the
// engine's own memory has its type checked; TestTheEngineIsAsItIsGuarded says if it has changed.

// factory makes a property of one runtime.
type factory = func(*goja.Runtime) goja.Value

// guarding is what a factory is changed by: it changes what was made.
type guarding func(h *Handler, made goja.Value)

// guardEngine changes the templates, before the first runtime of a script is made.
var guardEngine = sync.OnceFunc(func() {
	r := goja.New()
	global := r.GlobalObject()
	prototype := func(class string) *goja.Object {
		return r.Get(class).ToObject(r).Get("prototype").ToObject(r)
	}
	guardTemplate(global, globalGuards())
	guardTemplate(prototype("Array"), arrayGuards())
	guardTemplate(prototype("String"), stringGuards())
	guardTemplate(prototype("Function"), functionGuards())
	guardTemplate(prototype("Number"), map[string]guarding{"toLocaleString": guardInstead(func(_ *Handler, call native, c goja.FunctionCall) goja.Value {
		return call(goja.FunctionCall{This: c.This}) // the engine takes a locale for a radix
	})})
	guardTemplate(r.Get("Object").ToObject(r), objectGuards())
	guardTemplate(prototype("Object"), map[string]guarding{"__proto__": guardMember("setterFunc", (*Handler).setProto)})
	guardTemplate(prototype("Uint8Array").Prototype(), typedGuards())
	for class, names := range makers {
		guards := map[string]guarding{}
		for _, name := range names {
			guards[name] = guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value { return h.sized(call(c)) })
		}
		guardTemplate(prototype(class), guards)
	}
	guards := map[string]guarding{}
	for _, name := range cutters {
		guards[name] = guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value { return h.pieces(c.This, call(c)) })
	}
	guardTemplate(prototype("String"), guards)
	guardSymbol(prototype("Array"), goja.SymIterator, guardValues)
	guardSymbol(prototype("Uint8Array").Prototype(), goja.SymIterator, guardTypedValues)
	guardSymbol(prototype("String"), goja.SymIterator, guardCall((*Handler).boundTextIterator))
	for _, o := range []*goja.Object{
		global, r.Get("Object").ToObject(r), prototype("Object"), prototype("Function"), prototype("Array"), prototype("String"), r.Get("Number").ToObject(r), prototype("Number"),
		r.Get("Date").ToObject(r), prototype("Date"), r.Get("Math").ToObject(r), prototype("Uint8Array").Prototype(), prototype("DataView"),
	} {
		countTemplate(o)
	}
	for _, name := range bigNames {
		dropTemplate(global, name)
	}
	for name := range classes {
		classes[name] = (*templateOf[map[unistring.String]factory](global, "props"))[unistring.NewFromString(name)]
	}
	for _, name := range []string{"getBigInt64", "getBigUint64", "setBigInt64", "setBigUint64"} {
		dropTemplate(prototype("DataView"), name)
	}
})

// classes are what Handler.class makes.
var classes = map[string]factory{"RangeError": nil, "Uint8Array": nil}

// bigNames are the globals of BigInt.
var bigNames = []string{"BigInt", "BigInt64Array", "BigUint64Array"}

// handlers are those of the runtimes: a factory is told the runtime alone.
var handlers sync.Map // from weak.Pointer[goja.Runtime] to weak.Pointer[Handler]

// guarded says whose runtime the handler's is.
func (h *Handler) guarded() {
	key := weak.Make(h.vm)
	handlers.Store(key, weak.Make(h))
	runtime.AddCleanup(h.vm, func(key weak.Pointer[goja.Runtime]) { handlers.Delete(key) }, key)
}

func handlerOf(r *goja.Runtime) *Handler {
	if p, ok := handlers.Load(weak.Make(r)); ok {
		return p.(weak.Pointer[Handler]).Value()
	}
	return nil
}

// templateOf returns a field of the template of an object.
func templateOf[T any](o *goja.Object, name string) *T {
	t := fieldNamed(implementation(o), "tmpl")
	if t.Kind() != reflect.Pointer {
		panic("the engine has changed: no template of " + o.ClassName())
	}
	return fieldOf[T](t.Elem(), name)
}

func guardTemplate(o *goja.Object, by map[string]guarding) {
	properties := *templateOf[map[unistring.String]factory](o, "props")
	for name, guard := range by {
		key := unistring.NewFromString(name)
		made := properties[key]
		if made == nil {
			panic("the engine has changed: no " + name)
		}
		properties[key] = guardedFactory(made, guard)
	}
}

func guardSymbol(o *goja.Object, symbol *goja.Symbol, guard guarding) {
	properties := *templateOf[map[*goja.Symbol]factory](o, "symProps")
	properties[symbol] = guardedFactory(properties[symbol], guard)
}

func guardedFactory(make factory, guard guarding) factory {
	return func(r *goja.Runtime) goja.Value {
		v := make(r)
		if h := handlerOf(r); h != nil {
			guard(h, v)
		}
		return v
	}
}

func dropTemplate(o *goja.Object, name string) {
	key := unistring.NewFromString(name)
	delete(*templateOf[map[unistring.String]factory](o, "props"), key)
	names := templateOf[[]unistring.String](o, "propNames")
	kept := make([]unistring.String, 0, len(*names))
	for _, n := range *names {
		if n != key {
			kept = append(kept, n)
		}
	}
	*names = kept
}

// implementation returns the struct behind an object.
func implementation(o *goja.Object) reflect.Value {
	return fieldNamed(reflect.ValueOf(o).Elem(), "self").Elem().Elem()
}

// fields are the fields of structs, by type and name: reflect takes half a KiB each time to find one, or none.
var fields sync.Map // from reflect.Type to map[string][]int

// fieldNamed returns a field of a struct; not valid: it has none of that name.
func fieldNamed(of reflect.Value, name string) (field reflect.Value) {
	all, ok := fields.Load(of.Type())
	if !ok {
		found := make(map[string][]int)
		for _, f := range reflect.VisibleFields(of.Type()) {
			found[f.Name] = f.Index
		}
		all, _ = fields.LoadOrStore(of.Type(), found)
	}
	if at, ok := all.(map[string][]int)[name]; ok {
		field = of.FieldByIndex(at)
	}
	return field
}

// fieldOf returns a field of a struct of the engine's.
func fieldOf[T any](of reflect.Value, name string) *T {
	f := fieldNamed(of, name)
	want := reflect.TypeFor[T]()
	if !f.IsValid() || f.Type() != want && !(f.Kind() == reflect.Map && want.Kind() == reflect.Map && f.Type().Key() == want.Key() && f.Type().Elem().Kind() == want.Elem().Kind()) {
		panic(fmt.Sprintf("the engine has changed: %v has no %s", of.Type(), name))
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

// objectOf returns the object that a property is, or has.
func objectOf(property goja.Value, name string) *goja.Object {
	if o := objectsOf(property, name); len(o) > 0 {
		return o[0]
	}
	panic("the engine has changed: a property has no object as its " + name)
}

// guardFunction puts a function in place of a built-in one, which it may call.
func guardFunction(o *goja.Object, by func(call native, c goja.FunctionCall) goja.Value) {
	f := fieldOf[func(goja.FunctionCall) goja.Value](implementation(o), "f")
	call := native(*f)
	*f = func(c goja.FunctionCall) goja.Value { return by(call, c) }
}

// construct is what a built-in constructor does.
type construct = func(args []goja.Value, newTarget *goja.Object) *goja.Object

// guardConstructor changes what a built-in does when it is called, with or without new.
func guardConstructor(o *goja.Object, check func(args []goja.Value) []goja.Value) {
	guardFunction(o, func(call native, c goja.FunctionCall) goja.Value {
		c.Arguments = check(c.Arguments)
		return call(c)
	})
	f := fieldOf[construct](implementation(o), "construct")
	made := *f
	*f = func(args []goja.Value, newTarget *goja.Object) *goja.Object { return made(check(args), newTarget) }
}

// before has a check called before a built-in function.
func before(o *goja.Object, check func(c goja.FunctionCall)) {
	guardFunction(o, func(call native, c goja.FunctionCall) goja.Value {
		check(c)
		return call(c)
	})
}

// guardCall has a check called before a built-in function.
func guardCall(check func(h *Handler, c goja.FunctionCall)) guarding {
	return guardMember("value", check)
}

// guardMember is guardCall for a function that a property has.
func guardMember(name string, check func(h *Handler, c goja.FunctionCall)) guarding {
	return func(h *Handler, made goja.Value) {
		before(objectOf(made, name), func(c goja.FunctionCall) { check(h, c) })
	}
}

// guardInstead is guardFunction for a property that a template makes.
func guardInstead(instead func(h *Handler, call native, c goja.FunctionCall) goja.Value) guarding {
	return func(h *Handler, made goja.Value) {
		guardFunction(objectOf(made, "value"), func(call native, c goja.FunctionCall) goja.Value { return instead(h, call, c) })
	}
}

// guardObject changes a global object, once in a runtime: there may be several ways to it.
func guardObject(name string, change func(h *Handler, o *goja.Object)) guarding {
	return func(h *Handler, made goja.Value) {
		if slices.Contains(h.guardedObjects, name) {
			return
		}
		h.guardedObjects = append(h.guardedObjects, name)
		change(h, objectOf(made, "value"))
	}
}
