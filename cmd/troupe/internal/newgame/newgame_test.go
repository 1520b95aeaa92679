package newgame

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write troupe.d.ts")

// The types for new games equal those in the documents.
func TestTheTypesAreCurrent(t *testing.T) {
	want, err := os.ReadFile("../../../../docs/scripts/troupe.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("troupe.d.ts", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(types, want) {
		t.Error("troupe.d.ts is not docs/scripts/troupe.d.ts: run go test ./cmd/troupe/internal/newgame -update")
	}
}

var placeholder = regexp.MustCompile(`\{\{[a-z]+\}\}`)

func TestWrite(t *testing.T) {
	for _, ts := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "new", "My.Game-2")
		if err := Write(dir, ts); err != nil {
			t.Fatal(err)
		}
		main := map[bool]string{false: "main.js", true: "main.ts"}[ts]
		lines := 0
		for _, name := range []string{"README.md", "package.json", "page/index.html", "page/game.js", "server/troupe.d.ts", "server/package.json", "server/" + main, "tests/game.test.js", "tests/host.js"} {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if err != nil {
				t.Error(err)
			}
			if placeholder.Match(text) {
				t.Errorf("%s is not filled in", name)
			}
			if strings.HasSuffix(name, ".json") && !json.Valid(text) {
				t.Errorf("%s is not JSON", name)
			}
			if strings.HasPrefix(name, "page/") {
				lines += bytes.Count(text, []byte("\n"))
			}
		}
		if lines >= 150 {
			t.Errorf("the page has %d lines; less than 150 can be read at once", lines)
		}
		pack, _ := os.ReadFile(filepath.Join(dir, "package.json"))
		if !bytes.Contains(pack, []byte(`"name": "my.game-2"`)) {
			t.Errorf("%s", pack)
		}
		if err := Write(dir, ts); err == nil || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("again: %v", err)
		}
	}
}

func TestAnEmptyFolderIsFilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "game")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := Write(".", false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("server/main.js"); err != nil {
		t.Error(err)
	}
}

func TestBadNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b", "-x", ".x", "x.", "ä", "a:b", "$(x)", "{{name}}", strings.Repeat("x", 65), "x\ny", "<b>"} {
		if err := Write(filepath.Join(dir, name), false); err == nil {
			t.Errorf("%q is taken", name)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than one line: %v", name, err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(file, "game")} {
		if err := Write(name, false); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// If writing fails halfway, only files that existed before remain.
func TestAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"sub/a/x": nil, "sub/b/y": nil, "z": nil, "bad/\x00": nil}
	if err := write(filepath.Join(dir, "kept", "deep", "game"), files); err == nil {
		t.Fatal("a file with a name that cannot be is written")
	}
	left, err := os.ReadDir(filepath.Join(dir, "kept"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
