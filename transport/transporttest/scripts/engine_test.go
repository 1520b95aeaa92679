package scripts

import (
	"os/exec"
	"testing"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js"
)

// engine is a way to run a script.
type engine struct {
	name string
	// typescript says that it takes TypeScript.
	typescript bool
	program    func(b *bundle.Bundle, entry string, l script.Limits) (script.Program, error)
}

var embedded = engine{bundle.EngineEmbedded, true, func(b *bundle.Bundle, entry string, l script.Limits) (script.Program, error) {
	return js.New(b, entry, l)
}}

// engines are those that this machine can run.
func engines(t *testing.T) []engine {
	t.Helper()
	return []engine{embedded}
}

// everyEngine runs a test in each engine.
func everyEngine(t *testing.T, test func(t *testing.T, e engine)) {
	for _, e := range []engine{embedded} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			test(t, e)
		})
	}
}

func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("engine node needs node: %v", err)
	}
}
