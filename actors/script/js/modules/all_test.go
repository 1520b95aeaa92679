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
	for _, g := range lazy {
		if v, err := h.runtime.RunString("typeof " + g[0]); err != nil || v.String() == "undefined" {
			t.Errorf("%s: %v %v", g[0], v, err)
		}
	}
}
