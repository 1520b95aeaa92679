package js

import (
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/dop251/goja"

	"troupe/actors/script/js/engine"
)

// The guards are installed once per process, in the templates of built-ins (engine.Template). In a runtime
// without a Handler they do nothing.

// guarding modifies a property that a template has created in the runtime of h.
type guarding func(h *Handler, made goja.Value)

// guardEngine installs the guards. It must run before the first runtime of a script is created.
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
		return call(goja.FunctionCall{This: c.This}) // the engine would use a locale as the radix
	})})
	guardTemplate(r.Get("Object").ToObject(r), objectGuards())
	guardTemplate(prototype("Object"), map[string]guarding{"__proto__": guardPart(engine.Setter, (*Handler).setProto)})
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
	guardIterator := func(o *goja.Object, guard guarding) {
		engine.TemplateOf(o).ChangeSymbol(goja.SymIterator, guard.change)
	}
	guardIterator(prototype("Array"), guardValues)
	guardIterator(prototype("Uint8Array").Prototype(), guardTypedValues)
	guardIterator(prototype("String"), guardCall((*Handler).boundTextIterator))
	for _, o := range []*goja.Object{
		global, r.Get("Object").ToObject(r), prototype("Object"), prototype("Function"), prototype("Array"), prototype("String"), r.Get("Number").ToObject(r), prototype("Number"),
		r.Get("Date").ToObject(r), prototype("Date"), r.Get("Math").ToObject(r), prototype("Uint8Array").Prototype(), prototype("DataView"),
	} {
		engine.TemplateOf(o).ChangeAll(guarding((*Handler).count).change)
	}
	for name := range classes {
		classes[name] = engine.TemplateOf(global).Factory(name)
	}
	for _, name := range []string{"BigInt", "BigInt64Array", "BigUint64Array"} {
		engine.TemplateOf(global).Drop(name)
	}
	for _, name := range []string{"getBigInt64", "getBigUint64", "setBigInt64", "setBigUint64"} {
		engine.TemplateOf(prototype("DataView")).Drop(name)
	}
})

func guardTemplate(o *goja.Object, by map[string]guarding) {
	for name, guard := range by {
		engine.TemplateOf(o).Change(name, guard.change)
	}
}

func (g guarding) change(r *goja.Runtime, made goja.Value) {
	if h := handlerOf(r); h != nil {
		g(h, made)
	}
}

var classes = map[string]engine.Factory{"RangeError": nil, "Uint8Array": nil} // factories of the classes that Handler.class returns

// handlers maps runtimes to their Handlers. The guards use it, because they only get the runtime.
var handlers sync.Map // from weak.Pointer[goja.Runtime] to weak.Pointer[Handler]

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

type native = engine.Native

func guardFunction(o *goja.Object, by func(call native, c goja.FunctionCall) goja.Value) {
	f := engine.Function(o)
	call := *f
	*f = func(c goja.FunctionCall) goja.Value { return by(call, c) }
}

// guardConstructor makes a built-in constructor pass its arguments through check, with or without new.
func guardConstructor(o *goja.Object, check func(args []goja.Value) []goja.Value) {
	guardFunction(o, func(call native, c goja.FunctionCall) goja.Value {
		c.Arguments = check(c.Arguments)
		return call(c)
	})
	f := engine.Constructor(o)
	made := *f
	*f = func(args []goja.Value, newTarget *goja.Object) *goja.Object { return made(check(args), newTarget) }
}

// before makes a built-in function call check first.
func before(o *goja.Object, check func(c goja.FunctionCall)) {
	guardFunction(o, func(call native, c goja.FunctionCall) goja.Value {
		check(c)
		return call(c)
	})
}

// guardCall returns a guarding that makes the function of a property call check first.
func guardCall(check func(h *Handler, c goja.FunctionCall)) guarding {
	return guardPart(engine.Value, check)
}

// guardPart is guardCall for a part of the property, such as its getter.
func guardPart(part engine.Part, check func(h *Handler, c goja.FunctionCall)) guarding {
	return func(h *Handler, made goja.Value) {
		before(engine.Object(made, part), func(c goja.FunctionCall) { check(h, c) })
	}
}

// guardInstead returns a guarding that replaces the function of a property by instead. instead gets the
// original function as call.
func guardInstead(instead func(h *Handler, call native, c goja.FunctionCall) goja.Value) guarding {
	return func(h *Handler, made goja.Value) {
		guardFunction(engine.Object(made, engine.Value), func(call native, c goja.FunctionCall) goja.Value { return instead(h, call, c) })
	}
}

// guardObject returns a guarding that calls change for a global object, at most once per runtime. Several
// properties may share the same name.
func guardObject(name string, change func(h *Handler, o *goja.Object)) guarding {
	return func(h *Handler, made goja.Value) {
		if slices.Contains(h.guardedObjects, name) {
			return
		}
		h.guardedObjects = append(h.guardedObjects, name)
		change(h, engine.Object(made, engine.Value))
	}
}
