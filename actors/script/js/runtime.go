package js

import (
	"errors"
	"fmt"
	"path"

	"github.com/dop251/goja"
)

// callDepthMax bounds recursion, as the stack of Node does.
const callDepthMax = 8000

// start makes the runtime and loads the script, up to but without init.
func (h *Handler) start() error {
	h.vm = goja.New()
	h.vm.SetMaxCallStackSize(callDepthMax)
	h.timers.init(h)
	glue, err := h.loadGlue()
	if err != nil {
		return err
	}
	h.installGlobals()
	exports, err := h.require(h.program.entry)
	if err != nil {
		return fmt.Errorf("load %s: %w", h.program.entry, err)
	}
	h.glue.bind(glue)
	var given goja.Value = goja.Undefined()
	if o, ok := exports.(*goja.Object); ok {
		given = o.Get("ssExports")
	}
	if given == nil {
		given = goja.Undefined()
	}
	wrong, err := h.glue.load(glue, given)
	if err != nil {
		return err
	}
	if text := wrong.String(); text != "" {
		return errors.New(text)
	}
	return nil
}

func (h *Handler) loadGlue() (*goja.Object, error) {
	module, err := h.run(glueProgram(), realtimeFile, nil)
	if err != nil {
		return nil, err
	}
	create, _ := goja.AssertFunction(module.(*goja.Object).Get("create"))
	v, err := create(goja.Undefined(), h.hostObject())
	if err != nil {
		return nil, err
	}
	return v.(*goja.Object), nil
}

const realtimeFile = "/troupe/realtime.js"

// run runs a compiled CommonJS file and returns its exports.
func (h *Handler) run(p *goja.Program, file string, require goja.Value) (goja.Value, error) {
	f, err := h.vm.RunProgram(p)
	if err != nil {
		return nil, err
	}
	call, _ := goja.AssertFunction(f)
	module, exports := h.vm.NewObject(), h.vm.NewObject()
	_ = module.Set("exports", exports)
	h.modules[file] = module
	if require == nil {
		require = goja.Undefined()
	}
	if _, err := call(exports, exports, require, module, h.vm.ToValue(file), h.vm.ToValue(path.Dir(file))); err != nil {
		delete(h.modules, file)
		return nil, err
	}
	return module.Get("exports"), nil
}

// require loads a file of the bundle.
func (h *Handler) require(file string) (goja.Value, error) {
	if m := h.modules[gameRoot+file]; m != nil {
		return m.Get("exports"), nil
	}
	c, err := h.program.compiled(file)
	if err != nil {
		return nil, err
	}
	require := h.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		name := call.Argument(0).String()
		for _, candidate := range []string{path.Join(path.Dir(file), name), path.Join(path.Dir(file), name+".js")} {
			if _, ok := h.program.bundle.Files[candidate]; ok {
				v, err := h.require(candidate)
				if err != nil {
					panic(err)
				}
				return v
			}
		}
		panic(h.vm.NewTypeError("Cannot find module '%s'", name))
	})
	return h.run(c, gameRoot+file, require)
}
