package scripts

import (
	"os/exec"
	"testing"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js"
	"troupe/actors/script/node"
)

// engine is a way to run a script.
type engine struct {
	name    string
	program func(b *bundle.Bundle, entry string, l script.Limits) (script.Program, error)
	// missing says why this machine cannot run it.
	missing func() error
}

var engines = []engine{
	{bundle.EngineEmbedded, func(b *bundle.Bundle, entry string, l script.Limits) (script.Program, error) {
		return js.New(b, entry, l)
	}, func() error { return nil }},
	{bundle.EngineNode, func(b *bundle.Bundle, entry string, l script.Limits) (script.Program, error) {
		return node.New(b, entry, l, node.Options{})
	}, func() error { _, err := exec.LookPath("node"); return err }},
}

// everyEngine runs a test in each engine.
func everyEngine(t *testing.T, test func(t *testing.T, e engine)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			if err := e.missing(); err != nil {
				t.Skipf("engine %s cannot run here: %v", e.name, err)
			}
			t.Parallel()
			test(t, e)
		})
	}
}
