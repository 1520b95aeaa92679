package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/transport/host"
)

// twoWindows is a page that is added to a new game. It plays the game in two windows and posts the results.
const twoWindows = `<!doctype html>
<iframe src="index.html" width="700" height="600"></iframe>
<iframe src="index.html" width="700" height="600"></iframe>
<script>
const log = []
const frames_ = [...document.querySelectorAll('iframe')].map(f => f.contentWindow)
const until = async (what, check) => {
  for (;;) {
    const value = check()
    if (value) { log.push(what); return value }
    await new Promise(r => setTimeout(r, 20))
  }
}
const status = w => w.document.querySelector('#status')?.textContent ?? ''
const other = w => w.document.querySelector('.player:not([data-name^=you])')
const own = w => w.document.querySelector('.player[data-name^=you]')
const key = (w, key) => { for (let i = 0; i < 5; i++) w.dispatchEvent(new w.KeyboardEvent('keydown', { key })) }
const report = setInterval(() => fetch('RESULT', { method: 'POST', mode: 'no-cors', body: log.concat('now: ' + frames_.map(status).join(' | ')).join('\n') }), 1000)
onload = async () => {
  for (const w of frames_) w.onerror = e => { log.push('error: ' + e) }
  const [a, b] = frames_
  await until('both play', () => /^2 players/.test(status(a)) && /^2 players/.test(status(b)) && other(a) && other(b) && own(a) && own(b))
  for (const [from, to, name] of [[a, b, 'the first'], [b, a, 'the second']]) {
    const left = parseFloat(other(to).style.left)
    key(from, left < 50 ? 'ArrowRight' : 'ArrowLeft')
    await until(name + ' is seen to move', () => Math.abs(parseFloat(other(to).style.left) - left) > 5)
  }
  a.document.querySelector('#cut').click()
  await until('the first is away', () => other(b).classList.contains('away'))
  await until('the first is back', () => /back after/.test(status(a)) && !other(b).classList.contains('away'))
  log.push('played')
}
</script>
`

// newGame creates a game and starts a host for it, as a new user would.
func newGame(t *testing.T, flags ...string) (dir string, addrs host.Announcement) {
	t.Helper()
	dir = makeGame(t, flags...)
	state := t.TempDir()
	announced := filepath.Join(state, "addresses.json")
	starting(t, "dev", dir, "--announce", announced, "--set", "log.gameSessions.dir="+state, "--wss-addr=", "--dtls-addr=", "--kcp-addr=",
		"--api-addr", "127.0.0.1:0", "--ws-addr", "127.0.0.1:0", "--fast-addr", "127.0.0.1:0")
	until(t, "addresses", func() error {
		text, err := os.ReadFile(announced)
		if err == nil {
			err = json.Unmarshal(text, &addrs)
		}
		return err
	})
	return dir, addrs
}

func makeGame(t *testing.T, flags ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "catch")
	if code, out, said := call(append([]string{"new", "game", dir}, flags...)...); code != 0 || !strings.Contains(out, "dev "+dir) {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	return dir
}

var kinds = map[string][]string{"js": nil, "ts": {"--ts"}}

// A new game works in two browser windows, and a player that loses its network reconnects.
func TestNewGamesPlayInABrowser(t *testing.T) {
	long(t)
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine, so new games are not played in a browser")
	}
	for kind, flags := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, addrs := newGame(t, flags...)
			results := make(chan string)
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); err == nil {
					select {
					case results <- string(body):
					case <-ctx.Done():
					}
				}
			}))
			defer server.Close()
			defer cancel()
			page := strings.Replace(twoWindows, "RESULT", server.URL, 1)
			if err := os.WriteFile(filepath.Join(dir, "page/two.html"), []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
			profile, err := os.MkdirTemp("", "newgame-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(profile) // ignore the error: the browser may still be writing
			cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
				"--disable-background-networking", "--disable-component-update", "--user-data-dir="+profile, addrs.APIURL+"/game/two.html")
			cmd.WaitDelay = 5 * time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var last string
			for !strings.Contains(last, "played") && ctx.Err() == nil && !strings.Contains(last, "error") {
				select {
				case last = <-results:
				case <-ctx.Done():
				}
			}
			cancel()
			_ = cmd.Wait() // an error is expected: the process is killed
			if !strings.Contains(last, "played") || strings.Contains(last, "error") {
				t.Errorf("two windows do not play; the last that they say is:\n%s", last)
			}
		})
	}
}

// The test of a new game passes with Node.js alone.
func TestNewGamesPassTheirTest(t *testing.T) {
	long(t)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm on this machine, so the tests of new games are not run")
	}
	troupe, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	for kind, flags := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := makeGame(t, flags...)
			for named, want := range map[string]string{troupe: "pass 2", filepath.Join(dir, "nowhere"): "put it into PATH"} {
				ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
				defer cancel()
				cmd := exec.CommandContext(ctx, "npm", "test")
				cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), "TROUPE="+named), 10*time.Second
				out, err := cmd.CombinedOutput()
				if (err == nil) != (named == troupe) || !strings.Contains(string(out), want) {
					t.Errorf("npm test with %s: %v\n%s", named, err, out)
				}
			}
		})
	}
}

// A new game passes the type check. The test needs tsc, which `make js` installs.
func TestTypesOfNewGames(t *testing.T) {
	tsc, err := filepath.Abs("../../transport/client/js/node_modules/.bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tsc); err != nil {
		if tsc, err = exec.LookPath("tsc"); err != nil {
			t.Skip("there is no tsc: make js installs it and runs this test")
		}
	}
	for kind, config := range map[string]string{"js": "jsconfig.json", "ts": "tsconfig.json"} {
		dir := makeGame(t, kinds[kind]...)
		check := func() ([]byte, error) { return exec.Command(tsc, "-p", filepath.Join(dir, config)).CombinedOutput() }
		if out, err := check(); err != nil {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
		main := filepath.Join(dir, "server/main."+kind)
		text, err := os.ReadFile(main)
		if err == nil {
			err = os.WriteFile(main, bytes.Replace(text, []byte("session.getServerId()"), []byte("session.getServerIdd()"), 1), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out, err := check(); err == nil || !bytes.Contains(out, []byte("getServerIdd")) {
			t.Errorf("%s: a wrong name is not found: %v\n%s", kind, err, out)
		}
	}
}
