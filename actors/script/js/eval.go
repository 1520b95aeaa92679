package js

import (
	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// evals is what stands in for the engine's eval. What the name means in a script's files is
// a function that looks at the source first, and then evaluates it as an indirect eval.
// Only the engine's own can be a direct eval, which sees the variables around it. So the
// files' code says where a direct eval begins (compile.EvalDirect), the name means the
// engine's own right there, and the code asks for the source to be looked at before that
// gets it (compile.EvalSource). Nothing of a script runs between the first two, unless it is
// out to get at the engine's own: for such scripts the embedded engine is not made.
type evals struct {
	handler  *Handler
	own      goja.Value // the engine's eval
	guard    goja.Value // what stands in for it
	identity goja.Value
	checked  goja.Value // a function that returns the source to evaluate
	begun    bool       // a direct eval has, and has not read the name yet
	direct   bool       // what it read is the engine's own
}

// guardEval puts an eval that looks first in place of the engine's, which a property has.
func (h *Handler) guardEval(property goja.Value) {
	own := objectOf(property, "value")
	e := &evals{handler: h, own: own}
	indirect, _ := own.Export().(func(goja.FunctionCall) goja.Value)
	e.identity = h.vm.ToValue(func(c goja.FunctionCall) goja.Value { return c.Argument(0) })
	e.checked = h.vm.ToValue(func(c goja.FunctionCall) goja.Value { return e.source(c.Argument(0)) })
	guard, _ := h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		return indirect(goja.FunctionCall{Arguments: []goja.Value{e.source(c.Argument(0))}})
	}).(*goja.Object)
	_ = guard.DefineDataProperty("name", h.vm.ToValue("eval"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = guard.DefineDataProperty("length", h.vm.ToValue(1), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	e.guard = guard
	get := h.vm.ToValue(func(goja.FunctionCall) goja.Value { return e.named() })
	set := h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		_ = h.vm.GlobalObject().DefineDataProperty("eval", c.Argument(0), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		return goja.Undefined()
	})
	makeAccessor(property, get, set)
	h.evals = e
}

// named is what the global eval is.
func (e *evals) named() goja.Value {
	if !e.begun {
		return e.guard
	}
	e.begun, e.direct = false, true
	return e.own
}

// step is a property that the code around a direct eval reads.
func (e *evals) step(name string) goja.Value {
	if name == compile.EvalDirect {
		e.begun, e.direct = true, false
		return e.identity
	}
	direct := e.direct
	e.begun, e.direct = false, false
	if direct {
		return e.checked
	}
	return e.identity // the name means something else here
}

// source returns what the engine may evaluate, or throws.
func (e *evals) source(v goja.Value) goja.Value {
	source, ok := v.(goja.String)
	if !ok {
		return v
	}
	e.handler.refuse(compile.CheckEvaluated(source.String()))
	e.handler.useRegexps()
	return v
}

// evalStep is what modules.Options.Eval is called for.
func (h *Handler) evalStep(name string) goja.Value {
	if h.evals == nil {
		h.vm.Get("eval")
	}
	return h.evals.step(name)
}
