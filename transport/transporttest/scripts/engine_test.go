package scripts

import (
	"os/exec"
	"testing"
	"testing/synctest"

	"troupe/actors/script/bundle"
)

// engine is a way to run a script, by the name that a fleet's configuration has
// for it; empty leaves that to the script.
type engine struct{ name string }

// virtual reports whether times are exact.
func (e engine) virtual() bool { return e.name == bundle.EngineEmbedded }

// everyEngine runs a test in each engine: in the embedded one in virtual time, and unless tests are to be short in Node.js, whose
// processes need real time.
func everyEngine(t *testing.T, test func(t *testing.T, e engine)) {
	t.Run(bundle.EngineEmbedded, func(t *testing.T) { embedded(t, test) })
	t.Run(bundle.EngineNode, func(t *testing.T) {
		if testing.Short() {
			t.Skip("make test-full runs it in Node.js as well")
		}
		inNode(t, test)
	})
}

// everyEngineAlways is everyEngine for a test that a short run has in Node.js, too.
func everyEngineAlways(t *testing.T, test func(t *testing.T, e engine)) {
	t.Run(bundle.EngineEmbedded, func(t *testing.T) { embedded(t, test) })
	t.Run(bundle.EngineNode, func(t *testing.T) { inNode(t, test) })
}

// embedded runs a test in the embedded engine. Its watchdog is one for the process, and its goroutine belongs to a bubble, so tests
// come one after another.
func embedded(t *testing.T, test func(t *testing.T, e engine)) {
	synctest.Test(t, func(t *testing.T) { test(t, engine{bundle.EngineEmbedded}) })
}

func inNode(t *testing.T, test func(t *testing.T, e engine)) {
	needNode(t)
	t.Parallel()
	test(t, engine{bundle.EngineNode})
}

// needNode skips a test where there is no Node.js.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("engine node cannot run here: %v", err)
	}
}
