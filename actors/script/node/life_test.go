package node_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/node"
	"troupe/messages"
)

// pids returns JavaScript with two functions: mark writes process IDs to a file for the test, and begun
// prints the line that game.interrupted waits for.
func pids(t *testing.T) string {
	return fmt.Sprintf(`function begun() { require('fs').writeSync(2, 'begun\n'); } function mark(...ids) { require('fs').writeFileSync(%q, [process.pid, ...ids].join(' ') + ' end\n'); } `, pidFile(t))
}

// If a script cannot be loaded or started, the game session ends with a reason that tells where to look.
func TestWhatCannotStartSaysWhy(t *testing.T) {
	for name, c := range map[string]struct{ source, reason, log string }{
		"syntax":          {"let a = 1;\nlet b = ;\n", "load server.js: SyntaxError: Unexpected token ';'", "[ERROR] (server.js) 2: Error in server.js: /local/game/server.js:2\nlet b = ;"},
		"module":          {"require('nowhere');", "Cannot find module 'nowhere'", "Error in server.js"},
		"throws":          {"function f() { throw new TypeError('bug'); }\nf();", "load server.js: TypeError: bug", "/local/game/server.js:1"},
		"nothing":         {"", "does not export ssExports", ""},
		"no init":         {"exports.ssExports = {};", "no function init", ""},
		"init":            {"exports.ssExports = { init() { throw 1; } };", "init failed", "Error in init"},
		"exit at load":    {"process.exit(2);", "exited with an error code", ""},
		"exit in init":    {"exports.ssExports = { init() { process.exit(0); } };", "exited without processEnding", ""},
		"not ready":       {"exports.ssExports = { init() {}, onProcessStarted: () => 0 };", "onProcessStarted did not say ready", ""},
		"rejects ready":   {"exports.ssExports = { init() {}, async onProcessStarted() { throw 1; } };", "onProcessStarted did not say ready", "Error in onProcessStarted"},
		"does not start":  {"exports.ssExports = { init() {}, onStartGameSession() { null.x; } };", "onStartGameSession failed", "server.js:1"},
		"killed":          {"process.kill(process.pid, 'SIGKILL'); for (;;);", "signal: killed", ""},
		"aborts":          {"process.abort();", "signal: aborted", ""},
		"stderr":          {"require('fs').writeSync(2, 'last words'); process.kill(process.pid, 'SIGKILL'); for (;;);", "signal: killed", "[ERROR] (stderr) 0: last words"},
		"no heap":         {"const a = []; for (;;) a.push(new Array(1000).fill(1));", "heap out of memory", "FATAL ERROR"},
		"endless at load": {"begun(); for (;;);", "did not answer within", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, pids(t)+"mark();"+c.source, setup{failing: true, limits: func(l *script.Limits) {
				l.MemoryMax = 64 << 20
			}}, func(g *game) {
				if name == "endless at load" {
					g.interrupted()
				}
				g.ended(c.reason)
				if c.log != "" {
					g.logged(c.log)
				}
				if name != "syntax" { // no code of a file with a syntax error runs
					g.processes()
				}
			})
		})
	}
}

const exits = `
let session;
exports.ssExports = {
  init(s) { session = s; },
  async onMessage(m) {
    const say = text => session.sendReliableMessage(session.newTextGameMessage(9, -1, text), m.sender);
    say('last words');
    const [ending, code] = m.getPayloadAsText().split(' ');
    if (ending === 'ending') { const o = await session.processEnding(); say('' + o + o.Success + (session.processEnding() === session.processEnding())); }
    try { process.exit(Number(code)); } finally { say('never'); }
  },
};`

// RT-73, RT-78, D-125: the behavior depends on the Node.js version of the script, not on the installed
// version.
func TestErrorsOutsideOfCallbacks(t *testing.T) {
	const after = "exports.ssExports = { init() {}, onStartGameSession() { setTimeout(() => console.log('goes on'), 20); go(); } };\n"
	const timer = "function go() { setTimeout(function tick() { throw new RangeError('oops'); }, 1); }\n" + after
	const reject = "function go() { Promise.reject(new RangeError('oops')); }\n" + after
	const handled = "process.on('uncaughtException', e => console.log('own ' + e.message));\n" + reject
	for name, c := range map[string]struct {
		source, version string
		keep, lives     bool
		log             string
		errors          int64
	}{
		"timer":              {source: timer, log: "RangeError: oops\n    at Timeout.tick (/local/game/server.js:1", errors: 1},
		"timer, kept":        {source: timer, keep: true, lives: true, log: "oops", errors: 1},
		"timer, 10.x":        {source: timer, version: "10.x", log: "oops", errors: 1},
		"rejection, 10.x":    {source: reject, version: "10.x", lives: true, log: "[WARN] (server.js) 1: Unhandled promise rejection: RangeError: oops", errors: 1},
		"rejection, 24.x":    {source: reject, log: "[ERROR] (server.js) 1: Unhandled promise rejection: RangeError: oops", errors: 1},
		"rejection, kept":    {source: reject, keep: true, lives: true, log: "oops", errors: 1},
		"rejection, its own": {source: handled, lives: true, log: "own oops"},
		"no listeners":       {source: "process.on('uncaughtException', () => {}); process.removeAllListeners();\n" + timer, log: "[ERROR] (server.js) 2: Uncaught error: RangeError: oops", errors: 1},
		"listeners removed":  {source: "for (const e of ['uncaughtException', 'unhandledRejection']) process.removeAllListeners(e);\n" + reject, log: "[ERROR] (server.js) 2: Unhandled promise rejection: RangeError: oops", errors: 1},
		"of a callback":      {source: "exports.ssExports = { init() {}, async onStartGameSession() { setTimeout(() => console.log('goes on'), 20); throw Error('oops'); } };", lives: true, log: "Error in onStartGameSession: Error: oops"},
		"not an error":       {source: "function go() { setTimeout(() => { throw {odd: 1}; }, 1); }\n" + after, log: "Uncaught error: { odd: 1 }", errors: 1},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, c.source, setup{nodeVersion: c.version, failing: !c.lives, limits: func(l *script.Limits) { l.KeepRunningOnError = c.keep }}, func(g *game) {
				g.logged(c.log)
				if c.lives {
					g.logged("goes on")
				} else {
					g.ended("")
					if n := g.Count.ScriptCrashes.Load(); n != 1 {
						t.Errorf("%d crashes", n)
					}
				}
				if n := g.Count.ScriptErrors.Load(); n != c.errors {
					t.Errorf("%d errors are counted, want %d", n, c.errors)
				}
			})
		})
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	b := &bundle.Bundle{Files: map[string][]byte{"server.js": nil}, Version: "v"}
	t.Run("node", func(t *testing.T) {
		t.Setenv("PATH", "/nowhere")
		_, err := node.New(b, "server.js", script.Limits{}, node.Options{})
		if !errors.Is(err, node.ErrMissing) || !strings.Contains(err.Error(), "install Node.js") {
			t.Error(err)
		}
	})
	need(t)
	_, err := node.New(b, "/local/game/other.js", script.Limits{}, node.Options{})
	if err == nil || !strings.Contains(err.Error(), "other.js") {
		t.Error(err)
	}
	b = &bundle.Bundle{Files: map[string][]byte{"a.ts": []byte("let a: number;\nlet b = ;")}, Version: "v"}
	if _, err = node.New(b, "a.ts", script.Limits{}, node.Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "a.ts:2:9: Unexpected \";\"") {
		t.Error(err)
	}
	p := program(t, t.TempDir(), "", setup{})
	p.Close()
	if _, err := p.NewHandler(script.Process{}); err == nil {
		t.Error("a closed program makes handlers")
	}
	p.Close()
	if err := p.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// With a binary that is not node, the game session ends with a reason, and nothing hangs.
func TestABinaryThatIsNoNode(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-full starts such a process: TestAChildAndItsHost is the share of make test")
	}
	for name, binary := range map[string]string{"ends at once": "/bin/true", "cannot be run": "/etc/passwd"} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			if err := os.Symlink(binary, filepath.Join(path, "node")); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", path)
			p, err := node.New(&bundle.Bundle{Files: map[string][]byte{"a.js": nil}, Version: "v"}, "a.js", actorstest.ScriptLimits(), node.Options{Dir: t.TempDir()})
			if errors.Is(err, node.ErrMissing) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			actorstest.RunReal(t, nil, func(w *actorstest.World) {
				h, _ := p.NewHandler(script.Process{Counters: w.Count})
				id := w.Create(h)
				w.Until(func() string {
					if g := w.Game(id); g.Status != messages.GameSessionTerminated || !strings.Contains(g.EndText, "node ended") {
						return fmt.Sprint(g.Status, g.EndText)
					}
					return ""
				})
			})
			p.Close()
			if err := p.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
