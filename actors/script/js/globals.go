package js

import (
	"github.com/dop251/goja"
)

func (h *Handler) installGlobals() {
	h.newUint8Array, _ = goja.AssertConstructor(h.vm.Get("Uint8Array"))
	set := func(name string, f func(goja.FunctionCall) goja.Value) { _ = h.vm.Set(name, f) }
	set("setTimeout", func(c goja.FunctionCall) goja.Value { return h.timers.add(c, false) })
	set("setInterval", func(c goja.FunctionCall) goja.Value { return h.timers.add(c, true) })
	clear := func(c goja.FunctionCall) goja.Value {
		if id, ok := c.Argument(0).Export().(int64); ok {
			h.timers.clear(id)
		}
		return goja.Undefined()
	}
	set("clearTimeout", clear)
	set("clearInterval", clear)
	process := h.vm.NewObject()
	_ = process.Set("exit", func(c goja.FunctionCall) goja.Value {
		h.session.Exit(int(c.Argument(0).ToInteger()))
		h.dead = true
		h.vm.Interrupt("process.exit")
		return goja.Undefined()
	})
	_ = h.vm.Set("process", process)
}

func (h *Handler) rangeError(format string, args ...any) *goja.Object {
	e := h.vm.NewTypeError(append([]any{format}, args...)...)
	return e
}
