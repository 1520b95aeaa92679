package js

import (
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script/js/engine"
	"troupe/actors/script/watchdog"
)

// cutters are built-ins that return substrings of a text. The engine does not copy substrings: each one keeps
// the whole text in memory.
var cutters = []string{"at", "charAt", "slice", "split", "substr", "substring", "trim", "trimEnd", "trimStart"}

// pieces returns the result of a cutter. It copies substrings that are small parts of a large text, because
// engine.Held would not count that text.
func (h *Handler) pieces(text, of goja.Value) goja.Value {
	whole, ok := text.(goja.String)
	if !ok || whole.Length() < watchdog.LargePiece {
		return of
	}
	copied := func(v goja.Value) goja.Value {
		s, ok := v.(goja.String)
		if !ok || s.Length() > whole.Length()/2 || !engine.ASCII(s) { // the engine has already copied it
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
