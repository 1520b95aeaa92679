package js

import (
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script/js/engine"
	"troupe/actors/script/watchdog"
)

// cutters are built-ins that return pieces of a text. The engine does not copy pieces: each keeps all of the text.
var cutters = []string{"at", "charAt", "slice", "split", "substr", "substring", "trim", "trimEnd", "trimStart"}

// pieces returns what a cutter made, copied if it is a small piece of a large text: engine.Held would not count the text.
func (h *Handler) pieces(text, of goja.Value) goja.Value {
	whole, ok := text.(goja.String)
	if !ok || whole.Length() < watchdog.LargePiece {
		return of
	}
	copied := func(v goja.Value) goja.Value {
		s, ok := v.(goja.String)
		if !ok || s.Length() > whole.Length()/2 || !engine.ASCII(s) { // the engine has copied it
			return v
		}
		return h.vm.ToValue(strings.Clone(s.String()))
	}
	o, ok := of.(*goja.Object)
	if !ok {
		return copied(of)
	}
	list := engine.List(o)
	for i, v := range list {
		h.lookAt(int64(i))
		list[i] = copied(v)
	}
	return of
}
