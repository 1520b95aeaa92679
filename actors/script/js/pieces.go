package js

import (
	"reflect"
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script/watchdog"
)

// cutters are built-ins that return pieces of a text. The engine does not copy these: each keeps all of the text.
var cutters = []string{"at", "charAt", "slice", "split", "substr", "substring", "trim", "trimEnd", "trimStart"}

// pieces returns what was made of a text, as copies if it is a small part of a large one: what the text takes
// could not be seen in it.
func (h *Handler) pieces(text, of goja.Value) goja.Value {
	whole, ok := text.(goja.String)
	if !ok || whole.Length() < watchdog.LargePiece {
		return of
	}
	copied := func(v goja.Value) goja.Value {
		s, ok := v.(goja.String)
		if !ok || s.Length() > whole.Length()/2 || reflect.TypeOf(v).Kind() != reflect.String { // what is not ASCII is copied
			return v
		}
		return h.vm.ToValue(strings.Clone(s.String()))
	}
	o, ok := of.(*goja.Object)
	if !ok {
		return copied(of)
	}
	if in := implementation(o); in.Type().Name() == "arrayObject" {
		list := *fieldOf[[]goja.Value](in, "values")
		for i, v := range list {
			if i%1024 == 1023 {
				h.look()
			}
			list[i] = copied(v)
		}
	}
	return of
}
