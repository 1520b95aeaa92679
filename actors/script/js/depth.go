package js

import (
	"github.com/dop251/goja"

	"troupe/actors/script/js/engine"
)

// The engine bounds how deep functions of a script call each other, but not built-ins, which may call what a script puts in a property. With
//
//	a.join = a.toString; '' + a
//
// a built-in calls itself until the Go stack overflows, which ends the process. So built-ins count how deep they are.

const nativesMax = 2 * callDepthMax // how many built-ins may be inside of one another

// count makes the functions of a property count, and those of an object, or of a constructor and its prototype, that have no template.
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

// countCalls makes a built-in count how deep it is, and end if the call is to end.
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

// countNext makes iterators of arrays count, from the first one on: an element may be the next of another iterator.
func (h *Handler) countNext(v goja.Value) goja.Value {
	if iterator, ok := v.(*goja.Object); ok && !h.iterates {
		h.iterates = true
		h.countCalls(iterator.Prototype().Get("next").(*goja.Object))
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

// overflow throws what Node.js throws. The engine's own error for it cannot be caught, and takes the square of the depth to unwind the stack.
func (h *Handler) overflow() {
	h.overflows = true // to make an error takes built-ins
	e := h.rangeError("Maximum call stack size exceeded")
	h.overflows = false
	stack := engine.Stack(e)
	h.weigh(int64(len(*stack)) * engine.FrameSize)
	*stack = innermost(*stack)
	panic(e)
}
