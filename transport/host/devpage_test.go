package host

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// pageFolder returns a folder with a game's page, beside the folder of the game's script.
func pageFolder(t testing.TB) (page string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"server/main.js": "secret", "page/index.html": "<!doctype html>hello", "page/game.js": "play()", "page/art/index.html": "art", "page/art/star.svg": "<svg/>",
		"page/data.bin": "\x00<html>", "page/.env": "secret", "page/.git/config": "secret", "page/sub/.hidden": "secret", "page/empty/x.txt": "text",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "page")
}

// In development, the game's page is served from disk without a cache.
func TestDevPage(t *testing.T) { synctest.Test(t, devPages) }

func devPages(t *testing.T) {
	page := pageFolder(t)
	call := begin(t, Options{Config: config(t), Dev: true, Page: page}).call
	for path, want := range map[string]struct{ kind, body string }{
		"/game/": {"text/html; charset=utf-8", "<!doctype html>hello"}, "/game/index.html": {"text/html; charset=utf-8", "<!doctype html>hello"},
		"/game/game.js": {"text/javascript; charset=utf-8", "play()"}, "/game/game.js?v=2": {"text/javascript; charset=utf-8", "play()"},
		"/game/art/": {"text/html; charset=utf-8", "art"}, "/game/art/star.svg": {"image/svg+xml", "<svg/>"},
		"/game/data.bin": {"application/octet-stream", "\x00<html>"},
	} {
		status, header, body := call("GET", path, "")
		if status != 200 || body != want.body || header.Get("Content-Type") != want.kind || header.Get("Cache-Control") != "no-store" ||
			header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %d %v %q", path, status, header, body)
		}
	}
	if err := os.WriteFile(filepath.Join(page, "game.js"), []byte("again()"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, body := call("GET", "/game/game.js", ""); status != 200 || body != "again()" {
		t.Errorf("after a save: %d %q", status, body)
	}
	for path, to := range map[string]string{"/game": "/game/", "/game/art": "/game/art/"} {
		if status, header, _ := call("GET", path, ""); status/100 != 3 || header.Get("Location") != to {
			t.Errorf("%s: %d to %q", path, status, header.Get("Location"))
		}
	}
	for path, want := range map[string]int{"/game/nothing.js": 404, "/game/empty/": 404, "/client.js": 200} {
		if status, _, body := call("GET", path, ""); status != want {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	if status, header, _ := call("POST", "/game/", "{}"); status != http.StatusMethodNotAllowed || header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", status, header)
	}
}

// Files outside the folder and hidden files are not served.
func TestDevPageStaysInItsFolder(t *testing.T) {
	page := pageFolder(t)
	for from, to := range map[string]string{"script.js": "../server/main.js", "server": "../server", "absolute.js": filepath.Join(page, "../server/main.js"), "inside.js": "game.js"} {
		if err := os.Symlink(to, filepath.Join(page, from)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	p := &devPage{guard: guard{local: true}, folder: page}
	get := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/game/", nil)
		r.RemoteAddr, r.Host, r.URL.Path = "127.0.0.1:1", "localhost", path // a real server would clean the path
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{
		"../server/main.js", "/../server/main.js", "art/../../server/main.js", "script.js", "server/main.js", "absolute.js", ".env", ".git/config", "sub/.hidden",
		`..\server\main.js`, `art\..\..\server\main.js`, "art//star.svg", "./game.js", "game.js\x00", filepath.Join(page, "../server/main.js"), "..", ".", "", "/",
	} {
		if w := get("/game/" + path); w.Code == 200 && path != "" || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%q: %d %q", path, w.Code, w.Body)
		}
	}
	if w := get("/game/inside.js"); w.Code != 200 || w.Body.String() != "play()" {
		t.Errorf("a link inside: %d %q", w.Code, w.Body)
	}
	if err := mkfifo(filepath.Join(page, "pipe.js")); err != nil {
		t.Log("no pipes here: ", err)
	} else if w := get("/game/pipe.js"); w.Code != 404 {
		t.Errorf("a pipe: %d", w.Code)
	}
	if os.Geteuid() != 0 && runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(page, "game.js"), 0); err != nil {
			t.Fatal(err)
		}
		if w := get("/game/game.js"); w.Code != http.StatusForbidden {
			t.Errorf("a file that may not be read: %d", w.Code)
		}
	}
	if err := os.RemoveAll(page); err != nil {
		t.Fatal(err)
	}
	if w := get("/game/"); w.Code != 404 {
		t.Errorf("no folder: %d", w.Code)
	}
}

// Callers who may not get a player session may not read the page either.
func TestDevPageIsForThisMachine(t *testing.T) { synctest.Test(t, devPageIsForThisMachine) }

func devPageIsForThisMachine(t *testing.T) {
	page := pageFolder(t)
	call := begin(t, Options{Config: config(t), Dev: true, Page: page}).call
	for name, header := range map[string][]string{
		"another site":   {"Origin", "https://evil.example"},
		"a file":         {"Origin", "null"},
		"a rebound name": {"Host", "evil.example"},
		"a proxy":        {"X-Forwarded-For", "192.0.2.1"},
	} {
		if status, _, body := call("GET", "/game/", "", header...); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _, _ := call("GET", "/game/", "", "Origin", "http://localhost:5173"); status != 200 {
		t.Errorf("a page of this machine: %d", status)
	}
	p := &devPage{guard: guard{local: true}, folder: page}
	r, w := httptest.NewRequest("GET", "/game/", nil), httptest.NewRecorder()
	r.RemoteAddr, r.Host = netip.MustParseAddrPort("192.0.2.1:1").String(), "localhost"
	if p.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("another machine: %d", w.Code)
	}
	keyed := config(t)
	withKeys(&keyed)
	call = begin(t, Options{Config: keyed, Dev: true, Page: page}).call
	if status, _, _ := call("GET", "/game/", ""); status != http.StatusForbidden {
		t.Errorf("with access keys: %d", status)
	}
}

// A host that is not in development serves no page, and refuses to start with one.
func TestPagesAreForDevelopment(t *testing.T) { synctest.Test(t, pagesAreForDevelopment) }

func pagesAreForDevelopment(t *testing.T) {
	call := begin(t, Options{Config: config(t)}).call
	for _, path := range []string{"/game/", "/game/index.html"} {
		if status, _, body := call("GET", path, ""); status != 405 || strings.Contains(body, "hello") {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	page := pageFolder(t)
	for name, o := range map[string]Options{
		"in production": {Page: page}, "no folder": {Dev: true, Page: filepath.Join(page, "nothing")}, "a file": {Dev: true, Page: filepath.Join(page, "game.js")},
	} {
		o.Config, o.Network = config(t), memory(t)
		if h, err := Start(o); err == nil {
			h.Close()
			t.Errorf("%s: the host starts", name)
		}
	}
}

// FuzzDevPage: no path returns a hidden file or one outside the folder.
func FuzzDevPage(f *testing.F) {
	for _, seed := range []string{"", "index.html", "../server/main.js", "art/..//../server/main.js", ".git/config", `..\server\main.js`, "sub/./.hidden", "%2e%2e/server/main.js", "C:/x"} {
		f.Add(seed)
	}
	p := &devPage{guard: guard{local: true}, folder: pageFolder(f)}
	f.Fuzz(func(t *testing.T, path string) {
		r, w := httptest.NewRequest("GET", "/game/", nil), httptest.NewRecorder()
		r.RemoteAddr, r.Host, r.URL.Path = "127.0.0.1:1", "localhost", devPagePath+path
		if p.ServeHTTP(w, r); w.Code == 200 && strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%q", path)
		}
	})
}
