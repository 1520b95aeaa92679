package js

import (
	"runtime"
	"strings"
	"testing"

	"troupe/actors/script"
	"troupe/actors/script/watchdog"
)

// beside has calls be paced, on a machine of any size, and returns what ends that.
func beside(t *testing.T) {
	t.Helper()
	other := callWatchdog.Watch(watchdog.Options{})
	before := runtime.GOMAXPROCS(2)
	t.Cleanup(func() {
		other.Release()
		runtime.GOMAXPROCS(before)
	})
}

// A long call hands over what else its goroutine has to do, wherever its code is. How it rests is package watchdog's, in virtual time;
// what others notice of it is measured by troupe bench script-hostile.
func TestALongCallHandsOver(t *testing.T) {
	beside(t)
	for name, code := range map[string]string{
		"loop": `while (!over());`, "function": `const f = () => over() || f(), g = () => { try { return f(); } catch (e) { return over() || g(); } }; g();`,
		"generator": `for (const x of (function* () { while (true) yield over(); })()) if (x) break;`,
		"built-in":  `while (!over()) [3, 1, 2].sort((a, b) => a - b);`, "jobs": `(function f() { if (!over()) Promise.resolve().then(f); })();`,
		"ticks": `(function f() { if (!over()) process.nextTick(f); })();`,
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, calm(), body(`onMessage() { const until = Date.now() + 5, over = () => Date.now() >= until; `+code+` }`))
			g.handed = 0
			g.handler.OnMessage(message(1, ""))
			if g.handed != 1 || g.crash != "" {
				t.Error(g.handed, g.crash, &g.lines)
			}
		})
	}
}

func TestAPacedCallEnds(t *testing.T) {
	beside(t)
	for _, source := range []string{`for (;;);`, `const a = []; for (;;) a.push(new Array(1000).fill(1));`, `(function f() { Promise.resolve().then(f); })();`, `(function f() { process.nextTick(f); })();`} {
		g := start(t, calm(), only(`exports.ssExports = { init() {}, onMessage() { `+source+` } };`))
		g.hurry()
		within(t, source, func() { g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1}) })
		if !strings.Contains(g.crash, "it is hostile") {
			t.Error(source, g.crash)
		}
	}
}
