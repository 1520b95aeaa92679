package js

import (
	_ "embed" // of the file beside this one
	"sync"

	"github.com/dop251/goja"
)

//go:embed prelude.js
var preludeSource string

// preludeName and realtime.Name begin alike: their frames are not the script's.
const preludeName = "troupe:prelude"

var preludeProgram = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile(preludeName, wrapped(preludeSource), false)
})

// prelude is the functions of prelude.js.
type prelude struct {
	drain, fire, fireImmediate, rejected goja.Callable
	afterCallback                        goja.Value
}

// loadPrelude gives the runtime its timers and process.exit.
func (h *Handler) loadPrelude(host, process *goja.Object) error {
	exports, err := h.evaluate(preludeProgram())
	if err != nil {
		return err
	}
	o, err := h.create(exports, host, process, h.vm.GlobalObject())
	if err != nil {
		return err
	}
	h.prelude = prelude{drain: function(o, "drain"), fire: function(o, "fire"), fireImmediate: function(o, "fireImmediate"), rejected: function(o, "rejected"), afterCallback: o.Get("afterCallback")}
	return nil
}

func (h *Handler) tickQueued(goja.FunctionCall) goja.Value {
	h.ticking = true
	return goja.Undefined()
}

// exit is process.exit: nothing of the script runs any more, in the middle of the
// function, and no catch or finally sees it (realtime.md 15.4).
func (h *Handler) exit(c goja.FunctionCall) goja.Value {
	if h.session != nil {
		h.session.Exit(int(c.Argument(0).ToInteger()))
	}
	h.stop("process.exit")
	return goja.Undefined()
}
