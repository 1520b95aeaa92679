//go:build faults

package fault

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every point in the table must be hit somewhere, and every point that is hit must be in the table. Otherwise tests
// that iterate over Names would test less than they seem to.
func TestEveryPointIsHit(t *testing.T) {
	text, err := os.ReadFile("points.go")
	if err != nil {
		t.Fatal(err)
	}
	points := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) += "([a-z.]+)" +// `).FindAllStringSubmatch(string(text), -1) {
		points[m[1]] = false
		if !slices.Contains(names, m[2]) {
			t.Errorf("%s is not in names", m[2])
		}
	}
	if len(points) != len(names) || len(names) == 0 {
		t.Errorf("%d constants, %d names", len(points), len(names))
	}
	hit := regexp.MustCompile(`fault\.Hit\(([^)]*)\)`)
	err = filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range hit.FindAllStringSubmatch(string(text), -1) {
			point, ok := strings.CutPrefix(m[1], "fault.")
			if _, known := points[point]; !ok || !known {
				t.Errorf("%s: %s is no constant of this package", name, m[0])
			}
			points[point] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for point, used := range points {
		if !used {
			t.Errorf("nothing hits %s", point)
		}
	}
}
