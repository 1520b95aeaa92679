package scripts

import (
	"os/exec"
	"testing"
	"time"

	"troupe/actors/script/bundle"
)

// engine is a way to run a script, by the name that a fleet's configuration has
// for it; empty leaves that to the script.
type engine struct{ name string }

// callback is a limit of script.callback for tests that reach it. Node must start within it, too, also on a
// busy machine.
func (e engine) callback() time.Duration {
	if e.name == bundle.EngineNode {
		return 15 * time.Second
	}
	return 5 * time.Second
}

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
