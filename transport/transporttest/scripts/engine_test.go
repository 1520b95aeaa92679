package scripts

import (
	"os/exec"
	"testing"
	"testing/synctest"

	"troupe/actors/script/bundle"
)

// engine is an engine, by its name in a fleet's configuration. An empty name lets the script decide. With
// shared, several game sessions share a process of Node.js.
type engine struct {
	name   string
	shared bool
}

// virtual reports whether tests in this engine run in virtual time.
func (e engine) virtual() bool { return e.name == bundle.EngineEmbedded }

// everyEngine runs a test in each engine. The embedded engine uses virtual time. Node.js needs real time for
// its processes, and is skipped with -short.
func everyEngine(t *testing.T, test func(t *testing.T, e engine)) {
	t.Run(bundle.EngineEmbedded, func(t *testing.T) { embedded(t, test) })
	t.Run(bundle.EngineNode, func(t *testing.T) {
		if testing.Short() {
			t.Skip("make test-full runs it in Node.js as well")
		}
		inNode(t, false, test)
	})
	t.Run(sharedNode, func(t *testing.T) {
		if testing.Short() {
			t.Skip("make test-full runs it in Node.js as well")
		}
		inNode(t, true, test)
	})
}

// sharedNode is the name of tests in which several game sessions share a process of Node.js.
const sharedNode = "node, shared"

// everyEngineAlways is everyEngine for a test that also runs in Node.js with -short.
func everyEngineAlways(t *testing.T, test func(t *testing.T, e engine)) {
	t.Run(bundle.EngineEmbedded, func(t *testing.T) { embedded(t, test) })
	t.Run(bundle.EngineNode, func(t *testing.T) { inNode(t, false, test) })
	t.Run(sharedNode, func(t *testing.T) { inNode(t, true, test) })
}

// embedded runs a test in the embedded engine. The tests must not be parallel: the engine's watchdog is
// shared by the process, and its goroutine belongs to a bubble.
func embedded(t *testing.T, test func(t *testing.T, e engine)) {
	synctest.Test(t, func(t *testing.T) { test(t, engine{name: bundle.EngineEmbedded}) })
}

func inNode(t *testing.T, shared bool, test func(t *testing.T, e engine)) {
	needNode(t)
	t.Parallel()
	test(t, engine{name: bundle.EngineNode, shared: shared})
}

// needNode skips the test if Node.js is not installed.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("engine node cannot run here: %v", err)
	}
}
