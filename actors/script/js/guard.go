package js

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
	"troupe/actors/script/js/engine"
	"troupe/actors/script/js/modules"
)

// If the Go stack overflows, the process ends. So the guards here keep deeply nested input away from
// built-ins that recurse.

const proxiesMax = 1000 // maximum length of a chain of proxies, over which the engine recurses

func globalGuards() map[string]guarding {
	guards := map[string]guarding{
		"Array":     guardObject("Array", (*Handler).guardArrayFrom),
		"Function":  guardObject("Function", functionGuard("function")),
		"Proxy":     guardObject("Proxy", (*Handler).guardProxy),
		"Reflect":   guardObject("Reflect", (*Handler).guardReflect),
		"JSON":      guardObject("JSON", (*Handler).guardJSON),
		"RegExp":    guardObject("RegExp", (*Handler).guardRegexpSource),
		"String":    guardObject("String", (*Handler).guardRaw),
		"Set":       guardObject("Set", guardCollection("Set")),
		"Map":       guardObject("Map", guardCollection("Map")),
		"eval":      guardInstead((*Handler).evaluated),
		"encodeURI": guardCall((*Handler).boundEncoded), "encodeURIComponent": guardCall((*Handler).boundEncoded), "escape": guardCall((*Handler).boundEncoded),
	}
	for _, name := range sizedTypes {
		guards[name] = guardObject(name, func(h *Handler, o *goja.Object) {
			if name == "Uint8Array" {
				h.newBytes = *engine.Constructor(o)
			}
			h.guardSized(o)
		})
	}
	return guards
}

func functionGuards() map[string]guarding {
	return map[string]guarding{
		"constructor": guardObject("Function", functionGuard("function")),
		"bind": guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value {
			arguments := slices.Clone(c.Arguments)
			bound := call(c).(*goja.Object)
			h.countCalls(bound)
			engine.Bound(bound, arguments)
			return bound
		}),
		"apply": guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value {
			if len(c.Arguments) > 1 {
				c.Arguments[1] = h.list(c.Arguments[1], "apply")
			}
			return call(c)
		}),
	}
}

func objectGuards() map[string]guarding {
	guards := map[string]guarding{"setPrototypeOf": guardCall((*Handler).setPrototypeOf)}
	for _, name := range []string{"keys", "values", "entries", "getOwnPropertyNames", "getOwnPropertyDescriptors", "assign"} {
		guards[name] = guardCall(func(h *Handler, c goja.FunctionCall) {
			for _, v := range c.Arguments {
				h.boundText(v, name)
				h.boundMade(engine.Elements(v), engine.EntrySize, name)
			}
		})
	}
	return guards
}

// asyncFunction and generatorFunction return two function constructors that have neither a global name nor a
// template.
var (
	asyncFunction     = snippet("(async function () {}).constructor")
	generatorFunction = snippet("(function* () {}).constructor")
)

func (h *Handler) guardGenerators(o *goja.Object) {
	functionGuard("function*")(h, o)
	h.countMembers(o.Get("prototype").ToObject(h.vm).Get("prototype").ToObject(h.vm)) // the next function of a generator may call itself
}

// snippet compiles source code of the host when it is first used.
func snippet(text string) func() *goja.Program {
	return sync.OnceValue(func() *goja.Program { return goja.MustCompile("troupe:guard", text, false) })
}

// functionGuard guards a constructor that compiles functions from text. kind is the kind of function, such as
// "async function".
func functionGuard(kind string) func(h *Handler, o *goja.Object) {
	return func(h *Handler, o *goja.Object) {
		made := func(args []goja.Value, newTarget *goja.Object) *goja.Object {
			sources := make([]string, len(args))
			for i, v := range args {
				sources[i] = h.toText(v).String()
			}
			f := h.run(compile.Function(kind, sources)).ToObject(h.vm)
			if newTarget != nil && newTarget != o {
				if prototype, ok := newTarget.Get("prototype").(*goja.Object); ok {
					must(f.SetPrototype(prototype))
				}
			}
			return f
		}
		guardFunction(o, func(_ native, c goja.FunctionCall) goja.Value { return made(c.Arguments, nil) })
		*engine.Constructor(o) = made
	}
}

// run runs a program that was compiled from text of a script. err is the error of that compilation.
func (h *Handler) run(p *goja.Program, err error) goja.Value {
	h.refuse(err)
	h.usesAll()
	return h.value(p)
}

// value runs a program and returns its value. It throws what the program throws.
func (h *Handler) value(p *goja.Program) goja.Value {
	return returned(h.vm.RunProgram(p))
}

// returned returns v, or throws err if it is not nil.
func returned[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// evaluated implements indirect eval. evaluates checks the source of a direct eval before the engine runs it.
func (h *Handler) evaluated(_ native, c goja.FunctionCall) goja.Value {
	if source, ok := c.Argument(0).(goja.String); ok {
		return h.run(compile.Evaluated(source.String()))
	}
	return c.Argument(0)
}

func (h *Handler) evaluates(c goja.FunctionCall) {
	if source, ok := c.Argument(0).(goja.String); ok {
		h.refuse(compile.CheckDirect(source.String()))
		h.usesAll()
	}
}

// usesAll calls uses for all classes. It is for code that was not searched for the classes that its syntax
// uses.
func (h *Handler) usesAll() {
	for _, class := range compile.Uses {
		h.uses(class)
	}
}

// look is the yield point of loops in host code.
func (h *Handler) look() {
	h.pause()
	h.endIfInterrupted()
}

// lookAt calls look once in 1,024 iterations.
func (h *Handler) lookAt(turn int64) {
	if turn%1024 == 1023 {
		h.look()
	}
}

// worked is called after host work without yield points. took is how long the work lasted.
func (h *Handler) worked(took time.Duration) {
	if h.watch != nil {
		h.watch.Worked(took)
	}
	h.endIfInterrupted()
}

func (h *Handler) guardProxy(proxy *goja.Object) {
	check := func(args []goja.Value) []goja.Value {
		h.reaches(nil, args...)
		if len(args) > 1 {
			if _, ok := goja.AssertFunction(args[0]); ok {
				args[1] = h.countTraps(args[1])
			}
		}
		return args
	}
	guardConstructor(proxy, check)
	before(proxy.Get("revocable").(*goja.Object), func(c goja.FunctionCall) { check(c.Arguments) })
}

// traps replaces the handler object of a callable proxy. Its traps count their depth, because such a proxy
// may be its own trap.
type traps struct {
	modules.Sealed
	h       *Handler
	handler *goja.Object
}

func (h *Handler) countTraps(handler goja.Value) goja.Value {
	o, ok := handler.(*goja.Object)
	if !ok {
		return handler
	}
	counted := h.vm.NewDynamicObject(&traps{h: h, handler: o})
	must(counted.SetPrototype(o)) // for traps that are not functions, and for Handler.reaches
	return counted
}

func (t *traps) Get(name string) goja.Value {
	trap, ok := goja.AssertFunction(t.handler.Get(name))
	if !ok {
		return nil
	}
	return t.h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		t.h.descend(0)
		defer t.h.ascend()
		return returned(trap(t.handler, c.Arguments...))
	})
}

func (h *Handler) guardReflect(reflection *goja.Object) {
	takes := func(at int, what string) func(c goja.FunctionCall) {
		return func(c goja.FunctionCall) {
			if len(c.Arguments) > at {
				c.Arguments[at] = h.list(c.Arguments[at], what)
			}
		}
	}
	for name, check := range map[string]func(c goja.FunctionCall){
		"apply":          takes(2, "apply"),
		"construct":      takes(1, "construct"),
		"ownKeys":        func(c goja.FunctionCall) { h.boundMade(engine.Elements(c.Argument(0)), engine.EntrySize, "ownKeys") },
		"setPrototypeOf": h.setPrototypeOf,
	} {
		before(reflection.Get(name).(*goja.Object), check)
	}
}

// setPrototypeOf runs before Object.setPrototypeOf(object, prototype), and setProto before object.__proto__ =
// prototype.
func (h *Handler) setPrototypeOf(c goja.FunctionCall) { h.refuseCircle(c.Argument(0), c.Argument(1)) }
func (h *Handler) setProto(c goja.FunctionCall)       { h.refuseCircle(c.This, c.Argument(0)) }

// refuseCircle throws if a prototype leads back to its object through proxies. The engine would follow such a
// cycle forever.
func (h *Handler) refuseCircle(of, prototype goja.Value) {
	o, ok := of.(*goja.Object)
	if _, also := prototype.(*goja.Object); !ok || !also {
		return
	}
	if h.reaches(behindProxies(o), prototype) { // through a proxy, the engine changes the prototype of the proxy's target
		panic(h.vm.NewTypeError("Cyclic __proto__ value"))
	}
}

// reaches reports whether the objects in from lead to the object to through at least one proxy. It follows
// prototypes, proxy targets and proxy handlers. It throws if it visits more than proxiesMax proxies. The
// engine itself refuses cycles without proxies.
func (h *Handler) reaches(to *goja.Object, from ...goja.Value) bool {
	var pending []*goja.Object
	for _, v := range from {
		if o, ok := v.(*goja.Object); ok {
			pending = append(pending, o)
		}
	}
	var proxies map[*goja.Object]bool
	throughProxy := false
	for turn := int64(0); len(pending) > 0; turn++ {
		o := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for ; o != nil; turn++ {
			h.lookAt(turn)
			if o == to {
				if throughProxy {
					return true
				}
				break
			}
			p, ok := proxyOf(o)
			if !ok {
				o = o.Prototype()
				continue
			}
			throughProxy = true
			if proxies[o] {
				break
			}
			if proxies == nil {
				proxies = make(map[*goja.Object]bool)
			}
			if proxies[o] = true; len(proxies) > proxiesMax {
				panic(h.rangeError("more than %d proxies lie behind each other: the embedded engine has no more", proxiesMax))
			}
			if handler := p.Handler(); handler != nil {
				pending = append(pending, handler)
			}
			o = p.Target()
		}
	}
	return false
}

func isProxy(o *goja.Object) bool { return o.ExportType() == proxyType }

func proxyOf(o *goja.Object) (goja.Proxy, bool) {
	if !isProxy(o) {
		return goja.Proxy{}, false
	}
	p, ok := o.Export().(goja.Proxy)
	return p, ok
}

// behindProxies returns the final target of a chain of proxies. If o is not a proxy, it returns o.
func behindProxies(o *goja.Object) *goja.Object {
	for range proxiesMax {
		p, ok := proxyOf(o)
		if !ok || p.Target() == nil {
			break
		}
		o = p.Target()
	}
	return o
}

var proxyType = reflect.TypeFor[goja.Proxy]()

// flat implements Array.prototype.flat. The engine's own version recurses and cannot be interrupted.
func (h *Handler) flat(_ native, c goja.FunctionCall) goja.Value {
	type open struct {
		of    *goja.Object
		at, n int64
	}
	depth := 1.0
	if v := c.Argument(0); !goja.IsUndefined(v) {
		depth = float64(v.ToInteger())
	}
	var out []any
	root := c.This.ToObject(h.vm)
	levels := []open{{root, 0, h.boundList(root, "flat")}}
	most := int(h.listMax())
	for turn := int64(0); len(levels) > 0; turn++ {
		h.lookAt(turn)
		last := &levels[len(levels)-1]
		if last.at >= last.n {
			levels = levels[:len(levels)-1]
			continue
		}
		v := last.of.Get(indexText(last.at))
		last.at++
		if v == nil {
			continue
		}
		if o, ok := v.(*goja.Object); ok && isArray(o) && float64(len(levels)) <= depth {
			levels = append(levels, open{o, 0, lengthOf(o)})
			continue
		}
		if out = append(out, v); len(out) > most || len(levels) > most {
			panic(h.tooLong(int64(len(out)), "flat"))
		}
	}
	return h.vm.NewArray(out...)
}

// refuse throws a SyntaxError if err is a compile.Error.
func (h *Handler) refuse(err error) {
	var e *compile.Error
	if !errors.As(err, &e) {
		return
	}
	panic(returned(h.vm.New(h.vm.Get("SyntaxError"), h.vm.ToValue(e.Message))))
}
