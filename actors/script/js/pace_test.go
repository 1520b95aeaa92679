package js

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/watchdog"
)

// beside makes the watchdog pace calls on a machine of any size, until the end of the test.
func beside(t *testing.T) {
	t.Helper()
	other := callWatchdog.Watch(watchdog.Options{})
	before := runtime.GOMAXPROCS(2)
	t.Cleanup(func() {
		other.Release()
		runtime.GOMAXPROCS(before)
	})
}

// A long call hands over the other work of its goroutine, whatever code it is running. Package watchdog tests
// the rests, in virtual time.
func TestALongCallHandsOver(t *testing.T) {
	for name, code := range map[string]string{
		"nothing": ``, "loop": `for (let i = 0; i < 1000; i++);`, "function": `(function f(n) { if (n > 0) f(n - 1); })(1000);`,
		"generator": `for (const x of (function* () { for (let i = 0; i < 1000; i++) yield i; })());`,
		"built-in":  `new Array(1000).fill(1).forEach(x => x);`, "jobs": `(function f(n) { if (n > 0) Promise.resolve(n - 1).then(f); })(1000);`,
		"ticks": `(function f(n) { if (n > 0) process.nextTick(f, n - 1); })(1000);`,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := start(t, calm(), body(`onMessage() { logger.info('slow'); `+code+` }`))
			g.handed, g.lines.during = 0, func() { time.Sleep(time.Millisecond) }
			g.handler.OnMessage(message(1, ""))
			if want := min(len(code), 1); g.handed != want || g.crash != "" {
				t.Errorf("%s: handed over %d times, want %d; %s%s", name, g.handed, want, g.crash, &g.lines)
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
