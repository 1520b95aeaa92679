package js

import (
	"fmt"
	"path"
	"sync"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
	"troupe/actors/script/realtime"
)

// callDepthMax bounds recursion. That of Node is about twice as deep; but to unwind
// recursion through built-ins takes the engine the square of its depth (8,000: 2 s).
const callDepthMax = 4000

func wrapped(source string) string { return "(function (exports, require, module) {" + source + "\n})" }

var glueProgram = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile(realtime.Name, wrapped(realtime.Source), false)
})

// boot makes the runtime: globals, the session object, nothing of the script yet.
func (h *Handler) boot() error {
	h.vm = goja.New()
	h.vm.SetMaxCallStackSize(callDepthMax)
	h.vm.SetPromiseRejectionTracker(h.rejection)
	h.guard()
	process := h.vm.NewObject()
	_ = h.vm.Set("process", process)
	host := newHost(h)
	if err := h.loadPrelude(host, process); err != nil {
		return err
	}
	_ = host.Set("afterCallback", h.prelude.afterCallback)
	exports, err := h.evaluate(glueProgram())
	if err != nil {
		return err
	}
	glue, err := h.create(exports, host)
	if err != nil {
		return err
	}
	h.glue.bind(glue)
	return nil
}

// evaluate runs a file of the host and returns its exports.
func (h *Handler) evaluate(p *goja.Program) (*goja.Object, error) {
	f, err := h.vm.RunProgram(p)
	if err != nil {
		return nil, err
	}
	call, _ := goja.AssertFunction(f)
	exports := h.vm.NewObject()
	_, err = call(goja.Undefined(), exports)
	return exports, err
}

// create calls the create of a file of the host.
func (h *Handler) create(exports *goja.Object, args ...goja.Value) (*goja.Object, error) {
	v, err := function(exports, "create")(goja.Undefined(), args...)
	if err != nil {
		return nil, err
	}
	return v.(*goja.Object), nil
}

func function(o *goja.Object, name string) goja.Callable {
	f, ok := goja.AssertFunction(o.Get(name))
	if !ok {
		panic("no function " + name) // in files of ours
	}
	return f
}

// load runs the script's files, and hands its callbacks to the glue.
func (h *Handler) load() error {
	exports, err := h.require(h.program.entry)
	if err != nil {
		return err
	}
	var given goja.Value
	if o, ok := exports.(*goja.Object); ok {
		given = o.Get("ssExports")
	}
	if given == nil {
		given = goja.Undefined()
	}
	wrong, err := h.glue.load.call(goja.Undefined(), given)
	if err != nil {
		return err
	}
	if text := wrong.String(); text != "" {
		return fmt.Errorf("%s: %s", h.program.entry, text)
	}
	return nil
}

// require loads a file of the bundle.
func (h *Handler) require(file string) (goja.Value, error) {
	if m := h.modules[file]; m != nil {
		return m.Get("exports"), nil
	}
	c, err := h.program.unit.Program(file)
	if err != nil {
		return nil, err
	}
	f, err := h.vm.RunProgram(c)
	if err != nil {
		return nil, err
	}
	call, _ := goja.AssertFunction(f)
	module, exports := h.vm.NewObject(), h.vm.NewObject()
	_ = module.Set("exports", exports)
	h.modules[file] = module
	require := func(c goja.FunctionCall) goja.Value {
		name := c.Argument(0).String()
		for _, candidate := range []string{path.Join(path.Dir(file), name), path.Join(path.Dir(file), name+".js")} {
			if _, ok := h.program.unit.Files()[candidate]; ok {
				v, err := h.require(candidate)
				if err != nil {
					panic(err)
				}
				return v
			}
		}
		panic(h.vm.NewTypeError("Cannot find module '%s'", name))
	}
	if _, err := call(exports, exports, h.vm.ToValue(require), module, h.vm.ToValue(compile.Root+"/"+file), h.vm.ToValue(path.Dir(compile.Root+"/"+file))); err != nil {
		delete(h.modules, file)
		return nil, err
	}
	return module.Get("exports"), nil
}

// rangeError is an error to panic with.
func (h *Handler) rangeError(format string, args ...any) *goja.Object {
	o, err := h.vm.New(h.vm.Get("RangeError"), h.vm.ToValue(fmt.Sprintf(format, args...)))
	if err != nil {
		return h.vm.NewGoError(err)
	}
	return o
}
