package modules

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/compare/*.txt as Node.js 20 prints it")

// The scripts in testdata/compare print the same as in Node.js 20. The expected output is in the files next
// to them. If Node.js 20 is installed, the test also checks these files against it.
func TestPrintsAsNodeDoes(t *testing.T) {
	files, err := filepath.Glob("testdata/compare/*.js")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	defer func(l *time.Location) { time.Local = l }(time.Local)
	time.Local = time.UTC // the same time zone as for Node.js
	node := node20(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kept := strings.TrimSuffix(file, ".js") + ".txt"
			if node != "" {
				printed := runNode(t, node, file)
				if *rewrite {
					if err := os.WriteFile(kept, printed, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if want, err := os.ReadFile(kept); err != nil || !bytes.Equal(want, printed) {
					t.Errorf("%s is not what Node.js prints (%v): go test -run PrintsAsNode -rewrite", kept, err)
				}
			}
			want, err := os.ReadFile(kept)
			if err != nil {
				t.Fatal(err)
			}
			h := enable(t, "main.js", string(text))
			h.levels = script.LevelInfo
			got := h.run(t, "main.js") + "\n"
			compare(t, got, string(want))
		})
	}
}

// compare reports the first lines that differ.
func compare(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	shown := 0
	for i := 0; i < max(len(g), len(w)) && shown < 8; i++ {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, a, b)
			shown++
		}
	}
}

// node20 returns the path of Node.js 20. If there is none, it logs the reason and returns "".
func node20(t *testing.T) string {
	if testing.Short() {
		t.Log("compared with what is kept only: make test-full asks Node.js 20")
		return ""
	}
	path, err := exec.LookPath("node")
	if err == nil {
		out, _ := exec.Command(path, "--version").Output()
		if strings.HasPrefix(string(out), "v20.") {
			return path
		}
	}
	t.Log("no Node.js 20 on the path: compared with what is kept only")
	return ""
}

func runNode(t *testing.T, node, file string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, node, "--no-deprecation", file)
	c.Env = []string{"TZ=UTC", "HOME=/"}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	return out
}
