package modules

import "testing"

// Every name that can be required has a source that loads.
func TestEveryModuleLoads(t *testing.T) {
	h := enable(t, "main.js", "")
	for name, source := range builtins {
		if e := h.runtime.Try(func() { h.Builtin(source) }); e != nil {
			t.Errorf("%s: %v", name, e)
		}
	}
	h.install(^uint64(0))
	for _, x := range extras {
		if v, err := h.runtime.RunString(x.of + "." + x.name); err != nil || v.String() == "undefined" {
			t.Errorf("%s of %s: %v %v", x.name, x.of, v, err)
		}
	}
	for name := range lazy {
		if v, err := h.runtime.RunString("typeof " + name); err != nil || v.String() == "undefined" {
			t.Errorf("%s: %v %v", name, v, err)
		}
	}
}
