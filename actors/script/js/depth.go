package js

import (
	"github.com/dop251/goja"

	"troupe/actors/script/js/engine"
)

// The engine limits the depth of script functions on the call stack. It does not count built-in functions,
// but these may call whatever a script puts in a property. With
//
//	a.join = a.toString; '' + a
//
// a built-in calls itself until the Go stack overflows, which ends the process. So each built-in counts its
// own depth in Handler.natives.

const nativesMax = 2 * callDepthMax // maximum depth of nested built-ins

// count makes the functions of a property count their depth. For an object, or a constructor and its
// prototype, it does so for all members, unless they come from a template.
func (h *Handler) count(made goja.Value) {
	for _, o := range engine.Objects(made, engine.Value, engine.Getter, engine.Setter) {
		h.countCalls(o)
		h.countMembers(o)
	}
}

func (h *Handler) countMembers(of *goja.Object) {
	for key, v := range engine.Members(of) {
		for _, o := range engine.Objects(v, engine.Value, engine.Getter, engine.Setter) {
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

// countCalls makes a built-in function count its depth and check whether the call was interrupted.
func (h *Handler) countCalls(o *goja.Object) {
	f := engine.Function(o)
	if f == nil {
		return
	}
	if call := *f; call != nil {
		*f = func(c goja.FunctionCall) goja.Value {
			h.descend(len(c.Arguments))
			defer h.ascend()
			return call(c)
		}
	}
	n := engine.Constructor(o)
	if made := *n; made != nil {
		*n = func(args []goja.Value, newTarget *goja.Object) *goja.Object {
			h.descend(len(args))
			defer h.ascend()
			return made(args, newTarget)
		}
	}
}

// countNext makes the next function of array iterators count its depth, as soon as the first iterator is
// created: an element of the array may itself be the next function of another iterator. The steps of loops
// over arrays are made without that function.
func (h *Handler) countNext(v goja.Value) goja.Value {
	if iterator, ok := v.(*goja.Object); ok && h.steps == nil {
		h.steps = engine.StepsOf(h.vm)
		next := iterator.Prototype().Get("next").(*goja.Object)
		h.countCalls(next)
		guardFunction(next, func(call native, c goja.FunctionCall) goja.Value {
			if v := h.steps.Next(c.This); v != nil {
				return v
			}
			return call(c)
		})
	}
	return v
}

func (h *Handler) descend(arguments int) {
	if (h.natives >= nativesMax || h.calls.Depth() > callDepthNatives) && !h.overflows {
		h.overflow()
	}
	if h.watch != nil {
		h.watch.MeasureIfDue()
	}
	h.endIfInterrupted()
	h.weigh(int64(arguments) * engine.ValueSize)
	h.natives++
}

func (h *Handler) ascend() { h.natives-- }

// overflow throws the same RangeError as Node.js. The engine's own overflow error cannot be caught by
// scripts, and unwinding it takes time quadratic in the depth.
func (h *Handler) overflow() {
	h.overflows = true // creating the error calls built-ins, which must not call overflow again
	e := h.rangeError("Maximum call stack size exceeded")
	h.overflows = false
	stack := engine.Stack(e)
	h.weigh(int64(len(*stack)) * engine.FrameSize)
	*stack = innermost(*stack)
	panic(e)
}
