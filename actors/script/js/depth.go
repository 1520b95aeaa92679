package js

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// The engine bounds how deep functions of a script call each other, but not its built-ins, which
// call each other through whatever a script puts in a property: with
//
//	a.join = a.toString; '' + a
//
// one calls itself until the Go stack overflows, which ends the process. So built-ins count how
// deep they are in others. Those that make up their minds in Go alone need not.

// frameSize is how many bytes a frame takes in the stack of an error.
const frameSize = int64(unsafe.Sizeof(goja.StackFrame{}))

// nativesMax is how many built-ins may be inside of one another.
const nativesMax = 2 * callDepthMax

// callsOf returns the engine's stack of calls. Its length alone may be read: the type of its elements is the engine's.
func callsOf(vm *goja.Runtime) *[]struct{} {
	calls := fieldNamed(fieldNamed(reflect.ValueOf(vm).Elem(), "vm").Elem(), "callStack")
	if calls.Kind() != reflect.Slice {
		panic("the engine has changed: no stack of calls")
	}
	return (*[]struct{})(unsafe.Pointer(calls.UnsafeAddr()))
}

// countTemplate has the functions counted that a template makes.
func countTemplate(o *goja.Object) {
	properties := *templateOf[map[unistring.String]factory](o, "props")
	for key, made := range properties {
		properties[key] = guardedFactory(made, (*Handler).count)
	}
	symbols := *templateOf[map[*goja.Symbol]factory](o, "symProps")
	for key, made := range symbols {
		symbols[key] = guardedFactory(made, (*Handler).count)
	}
}

// members are the fields of a property that may be functions.
var members = []string{"value", "getterFunc", "setterFunc"}

// count has the functions counted that a property is or has, and those of an object, or of a
// constructor and its prototype, that have no template.
func (h *Handler) count(made goja.Value) {
	for _, o := range objectsOf(made, members...) {
		h.countCalls(o)
		h.countMembers(o)
	}
}

func (h *Handler) countMembers(of *goja.Object) {
	in := implementation(of)
	if fieldNamed(in, "tmpl").IsValid() || !fieldNamed(in, "values").IsValid() {
		return
	}
	for key, v := range *fieldOf[map[unistring.String]goja.Value](in, "values") {
		for _, o := range objectsOf(v, members...) {
			switch key {
			case "constructor":
			case "prototype":
				h.countMembers(o)
			default:
				h.countCalls(o)
			}
		}
	}
}

// objectsOf returns the object that a property is, or those that it has as its value, its getter or what else is named.
func objectsOf(property goja.Value, names ...string) (objects []*goja.Object) {
	if o, ok := property.(*goja.Object); ok {
		return []*goja.Object{o}
	}
	p := reflect.ValueOf(property)
	if p.Kind() != reflect.Pointer || p.Elem().Kind() != reflect.Struct {
		return nil
	}
	for _, name := range names {
		f := fieldNamed(p.Elem(), name)
		if f.IsValid() && f.Kind() == reflect.Interface {
			f = f.Elem()
		}
		if f.IsValid() && f.Type() == reflect.TypeFor[*goja.Object]() && !f.IsNil() {
			objects = append(objects, (*goja.Object)(f.UnsafePointer()))
		}
	}
	return objects
}

// countCalls has a built-in count how deep it is, and look whether the call is to end.
func (h *Handler) countCalls(o *goja.Object) {
	of := implementation(o)
	if !fieldNamed(of, "f").IsValid() {
		return
	}
	f := fieldOf[func(goja.FunctionCall) goja.Value](of, "f")
	if call := *f; call != nil {
		*f = func(c goja.FunctionCall) goja.Value {
			h.descend(len(c.Arguments))
			defer h.ascend()
			return call(c)
		}
	}
	n := fieldOf[construct](of, "construct")
	if made := *n; made != nil {
		*n = func(args []goja.Value, newTarget *goja.Object) *goja.Object {
			h.descend(len(args))
			defer h.ascend()
			return made(args, newTarget)
		}
	}
}

// countNext has iterators of arrays counted, from the first one on: an element of what one goes through may be another's next.
func (h *Handler) countNext(v goja.Value) goja.Value {
	if iterator, ok := v.(*goja.Object); ok && !h.iterates {
		h.iterates = true
		h.countCalls(iterator.Prototype().Get("next").(*goja.Object))
	}
	return v
}

func (h *Handler) descend(arguments int) {
	if (h.natives >= nativesMax || len(*h.calls) > callDepthNatives) && !h.overflows {
		h.overflow()
	}
	if h.watch != nil {
		h.watch.MeasureIfDue()
	}
	h.endIfInterrupted()
	h.weigh(int64(arguments) * valueSize)
	h.natives++
}

func (h *Handler) ascend() { h.natives-- }

// overflow throws what Node.js throws. The engine's own error for it cannot be caught, and to unwind the
// stack for such an error takes the square of its depth.
func (h *Handler) overflow() {
	h.overflows = true // to make an error takes built-ins
	e := h.rangeError("Maximum call stack size exceeded")
	h.overflows = false
	stack := fieldOf[[]goja.StackFrame](implementation(e), "stack")
	h.weigh(int64(len(*stack)) * frameSize)
	*stack = innermost(*stack)
	panic(e)
}
