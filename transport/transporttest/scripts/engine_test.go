package scripts

import (
	"os/exec"
	"testing"

	"troupe/actors/script/bundle"
)

// engine is a way to run a script, by the name that a fleet's configuration has
// for it; empty leaves that to the script.
type engine struct{ name string }

// everyEngine runs a test in each engine.
func everyEngine(t *testing.T, test func(t *testing.T, e engine)) {
	t.Parallel()
	for _, name := range []string{bundle.EngineEmbedded, bundle.EngineNode} {
		t.Run(name, func(t *testing.T) {
			if name == bundle.EngineNode {
				needNode(t)
			}
			t.Parallel()
			test(t, engine{name})
		})
	}
}

// needNode skips a test where there is no Node.js.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("engine node cannot run here: %v", err)
	}
}
