package archtest

import (
	"path/filepath"
	"testing"

	"troupe/cmd/internal/mutants"
)

// The table of deliberate bugs fits the source; a folder without one fits none of them.
func TestEachBugHasAPlaceAndATest(t *testing.T) {
	for _, err := range mutants.Check(filepath.Join("..", "..", "..")) {
		t.Error(err)
	}
	if len(mutants.Check(t.TempDir())) == 0 {
		t.Error("the check does not fail where there is no source")
	}
}
