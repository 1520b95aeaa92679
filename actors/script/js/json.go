package js

import (
	"slices"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

const nestingMax = 5000 // how deep a value may be for JSON.stringify

func (h *Handler) guardJSON(json *goja.Object) {
	guardFunction(json.Get("parse").(*goja.Object), func(parse native, c goja.FunctionCall) goja.Value {
		if len(c.Arguments) > 0 {
			text := h.toText(c.Arguments[0]) // of a Buffer, or whatever has a toString
			containers, err := compile.CheckJSON("JSON", text.String())
			h.refuse(err)
			h.boundMade(containers, containerSize, "JSON.parse")
			c.Arguments[0] = text
		}
		return parse(c)
	})
	guardFunction(json.Get("stringify").(*goja.Object), func(stringify native, c goja.FunctionCall) goja.Value { return h.sized(h.stringify(stringify, c)) })
}

type written struct {
	replace goja.Callable  // the script's replacer; nil: none
	keys    []string       // the script's list of keys
	listed  bool           // the script has given keys
	from    []*goja.Object // the script's object for each of path
	path    []*goja.Object // the objects that are open, the outermost first
	size    int64          // of the text so far, in characters, roughly
	gaps    bool           // lines are indented
	looked  int64          // size at the last look
}

// stringify is JSON.stringify with a replacer of the host, which bounds how deep values are and how long the text becomes.
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

// choose returns an object that shows only the keys that the script has listed: the engine takes a list or a replacer, not both.
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
