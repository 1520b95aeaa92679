package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheLimitOfAControlGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"a service of systemd":      {"0::/system.slice/troupe.service\n", map[string]string{"system.slice/troupe.service/memory.max": "1000", "system.slice/memory.max": "max"}, 1000},
		"a group in a smaller one":  {"0::/a/b\n", map[string]string{"a/b/memory.max": "1000", "a/memory.max": "500"}, 500},
		"a container":               {"0::/\n", map[string]string{"memory.max": "2000\n"}, 2000},
		"a container, version 1":    {"5:cpu:/\n4:memory:/docker/abc\n0::/\n", map[string]string{"memory/memory.limit_in_bytes": "3000\n"}, 3000},
		"version 1 without a limit": {"4:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "9223372036854771712", "memory/memory.limit_in_bytes": "9223372036854771712"}, 0},
		"another controller":        {"4:cpu,cpuacct:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "10"}, 0},
		"no limit":                  {"0::/a\n", map[string]string{"a/memory.max": "max\n"}, 0},
		"nothing":                   {"", nil, 0},
		"nonsense":                  {"a\n\n:::\n0::../..\n", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range c.files {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := groupMemoryMax(c.groups, root); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
