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
	fire, fireImmediate goja.Callable
}

// loadPrelude gives the runtime its timers.
func (h *Handler) loadPrelude(host *goja.Object) error {
	exports, err := h.evaluate(preludeProgram())
	if err != nil {
		return err
	}
	o, err := h.create(exports, host, h.vm.GlobalObject())
	if err != nil {
		return err
	}
	h.prelude = prelude{fire: function(o, "fire"), fireImmediate: function(o, "fireImmediate")}
	return nil
}
