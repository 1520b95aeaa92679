package js

import (
	"bytes"
	_ "embed" // of the file beside this one
	"errors"
	"regexp"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

//go:embed guard.js
var guardSource string

var guardProgram = embedded("guard", guardSource)

// needs says which guards a script needs: all of them take 29 KiB of a runtime.
type needs struct {
	any, functions, flats bool
	evals                 bool // 4 KiB
	json                  bool // 4 KiB
	bytes                 bool // 9 KiB: it may change Uint8Array
}

// makesFunctions finds what makes functions of text: Function, or the constructor of a
// function. A class's own constructor is none of these.
var makesFunctions = regexp.MustCompile(`\bFunction\b|[.'"\x60]\s*constructor\b`)

// needsOf looks for words. A script that hides them is out to harm, for which the
// embedded engine is not made (see the package's comment).
func needsOf(files map[string][]byte) (n needs) {
	for _, source := range files {
		n.functions = n.functions || makesFunctions.Match(source)
		n.evals = n.evals || bytes.Contains(source, []byte("eval"))
		n.flats = n.flats || bytes.Contains(source, []byte("flat"))
		n.bytes = n.bytes || bytes.Contains(source, []byte("Uint8Array")) || bytes.Contains(source, []byte("global"))
		n.json = n.json || bytes.Contains(source, []byte("JSON"))
	}
	n.bytes = n.bytes || n.functions || n.evals
	n.any = n.functions || n.flats
	return n
}

// guard keeps input that is nested deeply from the built-ins that recurse over it: a
// Go stack that overflows ends the process, and nothing recovers from that. The rest
// of the guard is in guard.js and eval.go.
func (h *Handler) guard() error {
	n := h.program.needs
	if n.json {
		h.guardJSON()
	}
	if n.evals {
		h.guardEval()
	}
	if !n.any {
		return nil
	}
	_, err := h.create(guardProgram(), h.host, h.vm.GlobalObject(), h.vm.ToValue(n.functions), h.vm.ToValue(n.flats), h.sizedNames(0))
	return err
}

// guardJSON puts a JSON.parse that looks first in place of the engine's.
func (h *Handler) guardJSON() {
	json, _ := h.vm.Get("JSON").(*goja.Object)
	parse, _ := json.Get("parse").Export().(func(goja.FunctionCall) goja.Value)
	guarded, _ := h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		if len(c.Arguments) > 0 {
			text := c.Arguments[0].ToString() // of a Buffer, or whatever has a toString
			h.refuse(compile.CheckJSON(text.String()))
			c.Arguments[0] = text
		}
		return parse(c)
	}).(*goja.Object)
	_ = guarded.DefineDataProperty("name", h.vm.ToValue("parse"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = guarded.DefineDataProperty("length", h.vm.ToValue(2), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = json.DefineDataProperty("parse", guarded, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// functionSources is host.functionSources(kind, args): what the engine makes a function of
// that kind of, or an error if the parser must not see it.
func (h *Handler) functionSources(c goja.FunctionCall) goja.Value {
	var sources []string
	var given []any
	h.vm.ForOf(c.Argument(1), func(v goja.Value) bool {
		text := v.ToString()
		sources, given = append(sources, text.String()), append(given, text)
		return true
	})
	h.refuse(compile.CheckFunction(c.Argument(0).String(), sources))
	return h.vm.NewArray(given...)
}

// refuse throws a SyntaxError.
func (h *Handler) refuse(err error) {
	var e *compile.Error
	if !errors.As(err, &e) {
		return
	}
	o, thrown := h.vm.New(h.vm.Get("SyntaxError"), h.vm.ToValue(e.Message))
	if thrown != nil {
		panic(thrown)
	}
	panic(o)
}
