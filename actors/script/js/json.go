package js

import (
	"slices"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

const nestingMax = 5000 // maximum depth of a value for JSON.stringify

func (h *Handler) guardJSON(json *goja.Object) {
	guardFunction(json.Get("parse").(*goja.Object), func(parse native, c goja.FunctionCall) goja.Value {
		if len(c.Arguments) > 0 {
			text := h.toText(c.Arguments[0]) // a Buffer or another object is converted by its toString
			containers, err := compile.CheckJSON("JSON", text.String())
			h.refuse(err)
			h.boundMade(containers, containerSize, "JSON.parse")
			c.Arguments[0] = text
		}
		return parse(c)
	})
	guardFunction(json.Get("stringify").(*goja.Object), func(stringify native, c goja.FunctionCall) goja.Value {
		text := h.plainJSON(c)
		if text == nil {
			text = h.stringify(stringify, c)
		}
		return h.sized(text)
	})
}

type written struct {
	replace goja.Callable  // the script's replacer function; nil if there is none
	keys    []string       // the keys in the script's replacer list
	listed  bool           // the script passed a replacer list
	from    []*goja.Object // for each object in path, the original object of the script
	path    []*goja.Object // the objects being serialized, outermost first
	size    int64          // approximate length of the text so far, in characters
	gaps    bool           // lines are indented
	looked  int64          // value of size at the last yield point
}

// stringify implements JSON.stringify. It uses a replacer of the host to limit the depth of values and the
// length of the text.
func (h *Handler) stringify(call native, c goja.FunctionCall) goja.Value {
	w := &written{gaps: c.Argument(2).ToBoolean()}
	by, _ := c.Argument(1).(*goja.Object)
	if by != nil {
		if w.replace, _ = goja.AssertFunction(by); w.replace == nil && isArray(by) {
			w.keys, w.listed = h.keysOf(by), true
		}
	}
	if h.replacer == nil {
		h.replacer = h.vm.ToValue(h.replaced)
	}
	outer := h.written
	h.written = w
	defer func() { h.written = outer }()
	return call(goja.FunctionCall{This: c.This, Arguments: []goja.Value{c.Argument(0), h.replacer, c.Argument(2)}})
}

// choose wraps an object so that only the keys in the script's replacer list are visible. The engine accepts
// either a list or a function as the replacer, and the host needs the function.
func (w *written) choose(h *Handler, o *goja.Object) *goja.Object {
	if !w.listed || isArray(o) {
		return o
	}
	switch o.ClassName() {
	case "Number", "String", "Boolean", "Function":
		return o
	}
	if slices.Contains(w.from, o) {
		panic(h.vm.NewTypeError("Converting circular structure to JSON"))
	}
	return h.vm.NewDynamicObject(&chosen{of: o, keys: w.keys})
}

func (h *Handler) replaced(c goja.FunctionCall) goja.Value {
	w, v := h.written, c.Argument(1)
	if w.size-w.looked > 1<<16 {
		w.looked = w.size
		h.look()
	}
	if w.replace != nil {
		v = returned(w.replace(c.This, c.Arguments...))
	}
	for last := len(w.path) - 1; last >= 0 && w.path[last] != c.This; last-- {
		w.path, w.from = w.path[:last], w.from[:last]
	}
	if w.size++; w.gaps {
		w.size += int64(len(w.path))
	}
	if key, ok := c.Argument(0).(goja.String); ok {
		w.size += int64(key.Length())
	}
	switch x := v.(type) {
	case goja.String:
		w.size += int64(x.Length())
	case *goja.Object:
		shown := w.choose(h, x)
		if w.path, w.from = append(w.path, shown), append(w.from, x); len(w.path) > nestingMax {
			panic(h.rangeError("the value is nested too deeply for JSON.stringify in the embedded engine"))
		}
		if shown != x {
			w.size++
			v = shown
		}
	}
	h.boundLength(w.size)
	return v
}
