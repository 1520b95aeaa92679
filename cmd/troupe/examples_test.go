package main

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Every command has an example in its help, and troupe accepts every example.
func TestEveryCommandHasAnExample(t *testing.T) {
	parser, err := newParser(streams{out: io.Discard, err: io.Discard})
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
			fresh, err := newParser(streams{out: io.Discard, err: io.Discard}, kong.Exit(func(int) {}))
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
			t.Errorf("%s has no example: add one to details\n%s", path, leaf.Detail)
		}
	}
	for path := range details {
		if !known[path] {
			t.Errorf("there is no command %s: remove its example", path)
		}
	}
}
