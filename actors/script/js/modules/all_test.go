package modules

import (
	"testing"

	"github.com/dop251/goja"

	"troupe/actors/script"
)

// Every name that can be required has a source that loads.
func TestEveryModuleLoads(t *testing.T) {
	h := enable(t, "main.js", "")
	for name, source := range builtins {
		if e := h.runtime.Try(func() { h.Builtin(source) }); e != nil {
			t.Errorf("%s: %v", name, e)
		}
	}
	h.install(^uint8(0))
	for _, x := range additions {
		if v, err := h.runtime.RunString(x.of + "." + x.name); err != nil || v.String() == "undefined" {
			t.Errorf("%s of %s: %v %v", x.name, x.of, v, err)
		}
	}
	for name := range onDemand {
		if v, err := h.runtime.RunString("typeof " + name); err != nil || v.String() == "undefined" {
			t.Errorf("%s: %v %v", name, v, err)
		}
	}
}

// Additions are installed for files that mention them.
func TestAdditions(t *testing.T) {
	h := enable(t, "main.js", `
		console.log(typeof Symbol.asyncIterator, Symbol.dispose.toString());
		const o = { message: 'm' }; Error.captureStackTrace(o); console.log(o.stack.split('\n')[0]);`)
	h.levels = script.LevelInfo
	if got, want := h.run(t, "main.js"), "symbol Symbol(Symbol.dispose)\nError: m"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if v, _ := enable(t, "main.js", "").runtime.RunString("Symbol.dispose"); !goja.IsUndefined(v) {
		t.Error("it is there unasked")
	}
}
