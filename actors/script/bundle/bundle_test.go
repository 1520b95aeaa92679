package bundle_test

import (
	"strings"
	"testing"

	"troupe/actors/script/bundle"
)

func of(files ...string) *bundle.Bundle {
	b := &bundle.Bundle{Files: map[string][]byte{}}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		b.Files[name] = []byte(text)
	}
	return b
}

func TestTheEntryOfALaunchPath(t *testing.T) {
	b := of("Main.js", "game/server.js", "node_modules/x/index.js", "readme.txt")
	for path, want := range map[string]string{
		"/local/game/Main.js": "Main.js", "Main.js": "Main.js", "./Main.js": "Main.js", "game/server.js": "game/server.js",
		"/local/game/game/server.js": "game/server.js", "/local/game/./game//server.js": "game/server.js", `game\server.js`: "game/server.js",
	} {
		if got, err := b.Entry(path); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"main.js", "/local/game/../etc/passwd", "../Main.js", "/etc/passwd", "/Main.js", "game"} {
		_, err := b.Entry(path)
		if err == nil || !strings.Contains(err.Error(), "Main.js, game/server.js") || strings.Contains(err.Error(), "node_modules") {
			t.Errorf("%s: %v", path, err)
		}
	}
	many := of()
	for _, c := range "abcdefghijkl" {
		many.Files[string(c)+".js"] = nil
	}
	if _, err := many.Entry("x"); err == nil || !strings.HasSuffix(err.Error(), "h.js and 4 more") {
		t.Error(err)
	}
}

func TestTheEntryWithoutALaunchPath(t *testing.T) {
	for _, c := range []struct {
		b    *bundle.Bundle
		want string
	}{
		{of("game.js", "lib/x.js"), "game.js"},
		{of("a.js", "index.js", "main.js"), "index.js"},
		{of("a.js", "main.js"), "main.js"},
		{of("game.js", "troupe.d.ts"), "game.js"}, // declarations are for editors, as docs/scripts says
		{of("game.ts", "a.d.mts", "b.D.CTS"), "game.ts"},
		{of("game.js", ".eslintrc.js", "._game.js"), "game.js"}, // FromPath skips such files
		{of("d.ts"), "d.ts"},
		{of("game.d.js"), "game.d.js"},
		{of("troupe.d.ts"), ""},
		{of("a.js", "b.js", `package.json={"main":"./b"}`), "b.js"},
		{of("a.js", "lib/index.js", `package.json={"main":"lib"}`), "lib/index.js"},
		{of("a.js", "b.js"), ""},
		{of("a.js", `package.json={"main":"nowhere.js"}`), ""},
		{of("a.js", `package.json={`), ""},
		{of("node_modules/x/a.js"), ""},
	} {
		got, err := c.b.Entry("")
		for _, path := range []string{"/local/game/", "/local/game", "."} {
			if other, _ := c.b.Entry(path); other != got {
				t.Errorf("%v: %q for %s, %q without", c.b.Files, other, path, got)
			}
		}
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v, want %q", c.b.Files, got, err, c.want)
		}
	}
}

func TestTheEngineThatAScriptAsksFor(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		`{"name":"x"}`:                 "",
		`{"troupe":{"engine":"node"}}`: "node",
		"\xef\xbb\xbf" + `{"troupe":{"engine":"embedded"}}`: "embedded",
		`{"troupe":{"engine":"v8"}}`:                        "error",
		`{"troupe":[]}`:                                     "error",
		`{`:                                                 "error",
	} {
		b := of("a.js")
		if text != "" {
			b.Files["package.json"] = []byte(text)
		}
		got, err := b.Engine()
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestGamesPerProcess(t *testing.T) {
	for text, want := range map[string]int{
		"":                                    1,
		`{"troupe":{"engine":"node"}}`:        1,
		`{"troupe":{"gamesPerProcess":50}}`:   50,
		`{"troupe":{"gamesPerProcess":-1}}`:   0,
		`{"troupe":{"gamesPerProcess":1001}}`: 0,
		`{"troupe":{"gamesPerProcess":1.5}}`:  0,
		`{"troupe":{"gamesPerProcess":"50"}}`: 0,
	} {
		b := of("a.js")
		if text != "" {
			b.Files["package.json"] = []byte(text)
		}
		if got, err := b.GamesPerProcess(); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
}
