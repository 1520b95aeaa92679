package js

import (
	"fmt"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/compile"
	"troupe/actors/script/js/engine"
	"troupe/actors/script/js/modules"
	"troupe/actors/script/realtime"
)

const callDepthMax = 4000 // limits the recursion depth of the script; Node.js allows about twice as much

// callDepthNatives is the depth limit for built-ins. It is higher, because a script that has reached
// callDepthMax may still call host functions. callDepthEngine is the engine's own limit, for code without the
// other checks.
const callDepthNatives, callDepthEngine = callDepthMax + 200, callDepthMax + 500

// embedded compiles a JavaScript file of the host when it is first used. The value of the program is a
// function that takes an exports object. Stack traces omit frames whose file name begins with "troupe:".
func embedded(name, source string) func() *goja.Program {
	return sync.OnceValue(func() *goja.Program {
		return goja.MustCompile("troupe:"+name, "(function (exports) {"+source+"\n})", false)
	})
}

var glueProgram = embedded(strings.TrimPrefix(realtime.Name, "troupe:"), realtime.Source)

// boot creates the runtime with its globals and the session object. It runs no script code.
func (h *Handler) boot() error {
	guardEngine()
	h.vm = goja.New()
	h.calls = engine.CallsOf(h.vm)
	h.guarded()
	h.vm.SetParserOptions(compile.NoSourceMaps)
	h.vm.SetMaxCallStackSize(callDepthEngine)
	h.vm.SetPromiseRejectionTracker(h.rejection)
	h.host = newHost(h)
	h.loader = modules.Enable(h.vm, modules.Options{
		Unit: h.program.unit, Entry: h.program.entry, Args: h.process.Args, Metadata: script.Metadata(h.process.Fleet),
		Exit: h.exit, Log: h.console, NextTick: h.nextTick, Pause: h.pause, Worked: h.worked, Size: h.sized, Eval: h.evaluates, Uses: h.uses,
		Globals: timerGlobals, Global: func(name string) goja.Value { return h.timers.load().Get(name) },
		Uncaught: func(e goja.Value) { h.uncaught(e, "uncaughtException") },
		Env:      map[string]string{"NODE_ENV": "production"}, // npm packages read it; the Node.js engine sets it, too
	})
	glue, err := h.create(glueProgram(), h.host)
	if err != nil {
		return err
	}
	h.jobs.queue = engine.Jobs(h.vm)
	h.glue.bind(glue)
	return nil
}

// create runs a JavaScript file of the host and calls the function create that it exports.
func (h *Handler) create(p *goja.Program, args ...goja.Value) (*goja.Object, error) {
	f, err := h.vm.RunProgram(p)
	if err != nil {
		return nil, err
	}
	call, _ := goja.AssertFunction(f)
	exports := h.vm.NewObject()
	if _, err := call(goja.Undefined(), exports); err != nil {
		return nil, err
	}
	create, _ := goja.AssertFunction(exports.Get("create"))
	v, err := create(goja.Undefined(), args...)
	o, _ := v.(*goja.Object)
	return o, err
}

func function(o *goja.Object, name string) native {
	f, ok := o.Get(name).Export().(native)
	if !ok {
		panic("no function " + name) // in a file of the host
	}
	return f
}

// load runs the files of the script and passes its callbacks to the glue.
func (h *Handler) load() error {
	exports, err := h.loader.Require(h.program.entry)
	if err != nil {
		return err
	}
	given, err := h.given(exports)
	if err != nil {
		return err
	}
	if text := h.glue.load.of(given).String(); text != "" {
		return fmt.Errorf("%s: %s", h.program.entry, text)
	}
	callbacks, _ := given.(*goja.Object)
	h.program.notePlaces(callbacks)
	return nil
}

// given returns ssExports, which the entry exports directly or as a property of its default export.
func (h *Handler) given(exports goja.Value) (given goja.Value, err error) {
	given = goja.Undefined()
	if thrown := h.vm.Try(func() { // getters of the script may run
		for _, name := range []string{"", "default"} {
			o, ok := exports.(*goja.Object)
			if ok && name != "" {
				o, ok = o.Get(name).(*goja.Object)
			}
			if !ok {
				return
			}
			if v := o.Get("ssExports"); v != nil {
				if given = v; v.ToBoolean() {
					return
				}
			}
		}
	}); thrown != nil {
		return nil, thrown
	}
	return given, nil
}

// bytes returns a Uint8Array that uses b without a copy. It runs no script code.
func (h *Handler) bytes(b []byte) *goja.Object {
	class := h.class("Uint8Array")
	h.buffer[0] = h.vm.ToValue(h.vm.NewArrayBuffer(b))
	o := h.newBytes(h.buffer[:], class)
	h.buffer[0] = nil // held could not count it
	return o
}

// class returns a built-in class, even if the script has replaced the global variable.
func (h *Handler) class(name string) *goja.Object {
	o := h.classes[name]
	if o == nil { // called once per class, because the template would add another guard each time
		o = engine.Object(classes[name](h.vm), engine.Value)
		if h.classes == nil {
			h.classes = make(map[string]*goja.Object)
		}
		h.classes[name] = o
	}
	return o
}

// rangeError returns a RangeError to panic with.
func (h *Handler) rangeError(format string, args ...any) *goja.Object {
	o, err := h.vm.New(h.class("RangeError"), h.vm.ToValue(fmt.Sprintf(format, args...)))
	if err != nil {
		return h.vm.NewGoError(err)
	}
	return o
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
