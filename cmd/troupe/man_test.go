package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Every command has an example in its help, and every example is a command line that troupe takes.
func TestEveryCommandHasAnExample(t *testing.T) {
	parser, err := newParser(streams{nil, new(bytes.Buffer), new(bytes.Buffer)})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(true) {
		path := strings.TrimPrefix(leaf.FullPath(), "troupe ")
		known[path] = true
		own := 0
		for line := range strings.Lines(leaf.Detail) {
			line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    troupe ")
			if !ok {
				continue
			}
			line, _, _ = strings.Cut(line, " > ")
			fresh, err := newParser(streams{nil, new(bytes.Buffer), new(bytes.Buffer)}, kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := fresh.Parse(strings.Fields(line))
			if err != nil {
				t.Errorf("troupe %s: %v", line, err)
			} else if parsed.Selected().FullPath() == leaf.FullPath() {
				own++
			}
		}
		if own == 0 {
			t.Errorf("%s has no example: add one to examples, or to its Help\n%s", path, leaf.Detail)
		}
	}
	for path := range examples {
		if !known[path] {
			t.Errorf("there is no command %s: remove its example", path)
		}
	}
}

// The manual page has every command and flag, and what reads manual pages has nothing to complain about.
func TestManual(t *testing.T) {
	var out, said bytes.Buffer
	if code := run([]string{"man"}, streams{nil, &out, &said}); code != 0 {
		t.Fatalf("%d %s", code, said.String())
	}
	parser, err := newParser(streams{nil, &out, &said})
	if err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, leaf := range parser.Model.Leaves(true) {
		if !strings.Contains(page, "\n.SS "+roff(leaf.FullPath())+"\n") {
			t.Errorf("the page lacks %s", leaf.FullPath())
		}
		for _, f := range leaf.Flags {
			if !f.Hidden && !strings.Contains(page, roff("--"+f.Name)) {
				t.Errorf("the page lacks --%s of %s", f.Name, leaf.FullPath())
			}
		}
	}
	file := filepath.Join(t.TempDir(), "troupe.1")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, reader := range [][]string{{"mandoc", "-T", "lint", "-W", "warning", file}, {"groff", "-man", "-ww", "-z", file}} {
		t.Run(reader[0], func(t *testing.T) {
			path, err := exec.LookPath(reader[0])
			if err != nil {
				t.Skipf("%s is not installed", reader[0])
			}
			text, err := exec.CommandContext(t.Context(), path, reader[1:]...).CombinedOutput()
			for line := range strings.Lines(string(text)) {
				if !strings.Contains(line, "missing date") { // the same commit gives the same page
					t.Errorf("%v: %s", err, line)
				}
			}
		})
	}
}

func TestRoffEscapes(t *testing.T) {
	for text, want := range map[string]string{".dot": `\&.dot`, "a\n'b": "a\n\\&'b", `--x\y`: `\-\-x\ey`} {
		if got := roff(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
