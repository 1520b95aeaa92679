package js

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest"
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

const busy = `
function turn(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function* turns(n) { for (let i = 0; i < n; i++) yield turn(100); }
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) {
    const until = Date.now() + m.opCode;
    let s = 0, n = 0;
    while (Date.now() < until) { s ^= turn(100); for (const x of turns(3)) s ^= x; [3, 1, 2].sort((a, b) => { s += n; return a - b; }); n++; }
    session.sendReliableMessage(session.newTextGameMessage(1, -1, String(n > 0 && s >= 0)), m.sender);
  },
};`

// A long call works a part of the time, and hands over what else its goroutine has to do.
func TestALongCallSharesTheMachine(t *testing.T) {
	beside(t)
	g := start(t, actorstest.ScriptLimits(), only(busy))
	g.handed = 0
	before, begun := cpu(), time.Now()
	g.handler.OnMessage(&script.Message{OpCode: 1000, Sender: 1})
	share := float64(cpu()-before) / float64(time.Since(begun))
	if len(g.sent) != 1 || !strings.Contains(g.sent[0], "true") || g.handed != 1 {
		t.Error(g.sent, g.handed, &g.lines)
	}
	if share > 0.6 { // about 0.3, and what other tests take meanwhile
		t.Errorf("it took %.2f of a core", share)
	}
	for tries := 20; ; tries-- { // the machine may hold a short call up until it is a long one
		g.sent, g.handed = nil, 0
		g.handler.OnMessage(&script.Message{OpCode: 0, Sender: 1})
		if len(g.sent) == 1 && g.handed == 0 {
			break
		}
		if len(g.sent) != 1 || tries == 0 {
			t.Fatal("a short call:", g.sent, g.handed)
		}
	}
}

func TestAPacedCallEndsInTime(t *testing.T) {
	beside(t)
	for _, source := range []string{`for (;;);`, `const a = []; for (;;) a.push(new Array(1000).fill(1));`, `(function f() { Promise.resolve().then(f); })();`, `(function f() { process.nextTick(f); })();`} {
		g := start(t, hasty(), only(`exports.ssExports = { init() {}, onMessage() { `+source+` } };`))
		begun := time.Now()
		within(t, source, func() { g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1}) })
		if took := time.Since(begun); !strings.Contains(g.crash, "ran for more than 200ms") || took > 30*time.Second {
			t.Error(source, g.crash, took)
		}
	}
}
