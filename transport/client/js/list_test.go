package js_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var entry = regexp.MustCompile(`(?m)^  (?:async )?(\w+)\(t\) \{$`)

// entries returns the names of the entries of lists in test.
func entries(t *testing.T, files ...string) (names []string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("test", file))
		if err != nil {
			t.Fatal(err)
		}
		found := entry.FindAllSubmatch(text, -1)
		if len(found) < 10 {
			t.Fatalf("%d entries in %s", len(found), file)
		}
		for _, m := range found {
			names = append(names, string(m[1]))
		}
	}
	return names
}
