package js

import "github.com/dop251/goja"

// firm is what a script has done to a game message so that it changes less; each
// includes those before.
type firm uint8

const (
	inextensible firm = iota + 1
	sealed
	frozen
)

// guardFreezing has game messages frozen as any object, which the engine refuses for
// objects of ours.
func (h *Handler) guardFreezing() {
	object, reflection := h.vm.Get("Object").ToObject(h.vm), h.vm.Get("Reflect").ToObject(h.vm)
	makes := func(on *goja.Object, name string, f firm, result func(o *goja.Object) goja.Value) {
		h.replace(on, name, 1, func(c goja.FunctionCall) goja.Value {
			m := messageOf(c.Argument(0))
			if m == nil {
				return nil
			}
			m.firm = max(m.firm, f)
			return result(c.Arguments[0].(*goja.Object))
		})
	}
	itself := func(o *goja.Object) goja.Value { return o }
	yes := func(*goja.Object) goja.Value { return h.vm.ToValue(true) }
	makes(object, "preventExtensions", inextensible, itself)
	makes(object, "seal", sealed, itself)
	makes(object, "freeze", frozen, itself)
	makes(reflection, "preventExtensions", inextensible, yes)
	asks := func(on *goja.Object, name string, f firm, is bool) {
		h.replace(on, name, 1, func(c goja.FunctionCall) goja.Value {
			m := messageOf(c.Argument(0))
			if m == nil {
				return nil
			}
			return h.vm.ToValue((m.firm >= f) == is)
		})
	}
	asks(object, "isExtensible", inextensible, false)
	asks(object, "isSealed", sealed, true)
	asks(object, "isFrozen", frozen, true)
	asks(reflection, "isExtensible", inextensible, false)
}

// messageOf returns the game message that a value is, or nil.
func messageOf(v goja.Value) *gameMessage {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != messageType { // to export what it is not would run its getters
		return nil
	}
	return o.Export().(*gameMessage)
}
