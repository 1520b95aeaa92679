package scripts

import (
	"os"
	"regexp"
	"testing"
)

// Every name that troupe.d.ts declares is used by the typed example, which is
// compiled and played; so a declaration of what is not there is found.
func TestTypesAreUsed(t *testing.T) {
	declared, err := os.ReadFile("../../../docs/scripts/troupe.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	used, err := os.ReadFile(examples + "typed/typed.ts")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)/\*\*.*?\*/|//[^\n]*`).ReplaceAll(declared, nil)
	names := regexp.MustCompile(`(?m)^    (?:readonly )?(\w+)\??[:(]|^  (?:interface|type) (\w+)`).FindAllSubmatch(text, -1)
	if len(names) < 70 {
		t.Fatalf("%d names only", len(names))
	}
	for _, n := range names {
		name := string(n[1]) + string(n[2])
		if !regexp.MustCompile(`\b` + name + `\b`).Match(used) {
			t.Errorf("%s is declared and not used", name)
		}
	}
}
