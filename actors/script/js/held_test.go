package js

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// A call that creates only small values is ended when the watchdog measures that the script holds too much.
func TestACallThatMakesSmallPiecesEndsForWhatItHolds(t *testing.T) {
	limits := calm()
	limits.MemoryMax = 16 << 20
	g := start(t, limits, body(`onMessage() { globalThis.kept = []; for (;;) kept.push([1]); }`))
	within(t, "the call", func() { g.handler.OnMessage(message(1, "")) })
	if !strings.Contains(g.crash, "it holds more than 16 MiB of memory") {
		t.Errorf("it ended for something else: %q", g.crash)
	}
}

// hiding lists ways to keep x, a text of 256 KiB, in a closure or another internal value of the engine.
var hiding = map[string]string{
	"bound":               `kept.push((() => {}).bind(null, x))`,
	"bound this":          `kept.push((function () {}).bind(x))`,
	"bound to a class":    `kept.push((class { constructor(a) { this.a = a; } }).bind(null, x))`,
	"bound to a built-in": `kept.push(Math.max.bind(null, x))`,
	"bound reaction":      `pending().then((() => {}).bind(null, x))`,
	"all":                 `Promise.all([x, pending()])`,
	"allSettled":          `Promise.allSettled([x, pending()])`,
	"any":                 `Promise.any([Promise.reject(x), pending()])`,
	"race":                `Promise.race([pending()]).then(() => x)`,
	"all of a subclass":   `class P extends Promise {} const p = new P(() => {}); kept.push(p); P.all([x, p])`,
	"finally":             `pending().finally(() => x)`,
	"finally later":       `const p = pending(); Promise.resolve(x).finally(() => p)`,
	"finally fails":       `const p = pending(); Promise.reject(x).finally(() => p).catch(() => {})`,
	"revoke":              `kept.push(Proxy.revocable({ x }, {}).revoke)`,
	"callable proxy":      `kept.push(new Proxy(() => {}, { x }))`,
	"regular expression":  `kept.push(new RegExp(x.slice(0, 1 << 13)))`,
	"backtracking":        `kept.push(new RegExp('(?=y)' + x.slice(0, 1 << 15)))`,
	"property of one":     `const r = /a/; r.x = x; kept.push(r)`,
	"text of a function":  `kept.push(new Function('/*' + x + '*/'))`,
	"literal in it":       `kept.push(new Function('return "' + x + '"'))`,
	"code of a function":  `kept.push(new Function('a = 1;'.repeat(1 << 12)))`,
	"evaluated":           `kept.push((0, eval)('() => "' + x + '"'))`,
	"generator":           `const g = (function* (a) { yield 1; yield a; })(x); g.next(); kept.push(g)`,
	"iterator":            `kept.push([x][Symbol.iterator](), new Map([[1, x]]).entries(), x.matchAll(/y/g))`,
	"weak map":            `const key = {}; kept.push(key); (globalThis.weak ??= new WeakMap()).set(key, x)`,
	"symbol":              `Symbol.for(x)`,
	"getter":              `kept.push({ get y() { return x; } })`,
	"private field":       `kept.push(new (class { #x = x; has() { return this.#x; } })())`,
	"arguments":           `kept.push((function () { return arguments; })(x))`,
	"listener":            `(globalThis.emitter ??= new (require('events'))()).on('x', () => x)`,
	// A substring must not keep the whole text.
	"slice": `kept.push(x.slice(1000, 1010))`, "substring": `kept.push(x.substring(0, 100))`, "at": `kept.push(x.at(0))`, "trim": `kept.push((' '.repeat(1 << 18) + i).trim())`,
	"split": `kept.push((x + ' y').split(' ')[1])`, "split by an expression": `kept.push((x + ' y').split(/ /)[1])`,
	"match": `kept.push((x + 'y').match(/y\d*/)[0])`, "matches": `kept.push((x + 'y').match(/y\d*/g))`, "exec": `kept.push(/y/.exec(x + 'y')[0])`,
}

// The estimate is close to the growth of the Go heap.
func TestWhatARuntimeHoldsIsEstimated(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	ways := map[string]string{
		"numbers":  `const a = []; for (let i = 0; i < 20000; i++) a.push(i + 0.5); globalThis.kept = a;`,
		"objects":  `const a = []; for (let i = 0; i < 4000; i++) a.push({ x: i, y: [i], name: 'n' + i }); globalThis.kept = a;`,
		"texts":    `const a = []; for (let i = 0; i < 20; i++) a.push('x'.repeat(2e5) + i); globalThis.kept = a;`,
		"one text": `const s = 'x'.repeat(1e6), a = []; for (let i = 0; i < 1000; i++) a.push(s); globalThis.kept = a;`,
		"maps":     `const m = new Map(); for (let i = 0; i < 5000; i++) m.set('k' + i, [i]); globalThis.kept = m;`,
		"bytes":    `globalThis.kept = [new Uint8Array(8e6), Buffer.alloc(8e6)];`,
		"closures": `const a = []; for (let i = 0; i < 5000; i++) a.push(() => i); globalThis.kept = a;`,
		"a cycle":  `let o = {}; const first = o; for (let i = 0; i < 4000; i++) { o.next = { before: o }; o = o.next; } o.next = first; globalThis.kept = o;`,
	}
	short := []string{"bound", "bound to a class", "all", "finally", "regular expression", "code of a function", "slice", "match"}
	for name, code := range hiding {
		if testing.Short() && !slices.Contains(short, name) {
			continue
		}
		ways[name] = `globalThis.kept = []; const pending = () => { const p = new Promise(() => {}); kept.push(p); return p; };
for (let i = 0; i < 16; i++) { const x = 'x'.repeat(1 << 18) + i; ` + code + ` }`
	}
	for name, code := range ways {
		g := start(t, calm(), body(`onMessage() { `+code+` }`))
		h := g.handler.(*Handler)
		before, was := heap(), h.held(1<<40)
		g.handler.OnMessage(message(1, ""))
		grown := heap() - before
		begun := time.Now()
		held := h.held(1<<40) - was
		t.Logf("%s: %d KiB, in truth %d, in %v", name, held>>10, grown>>10, time.Since(begun))
		if held < grown/3 || held > 3*grown+1<<20 {
			t.Errorf("%s: %d KiB, in truth %d", name, held>>10, grown>>10)
		}
		if limited := h.held(100); limited > 1<<20 && limited >= held {
			t.Errorf("%s: %d KiB with a limit", name, limited>>10)
		}
		if was < 10<<10 || was > 2<<20 {
			t.Errorf("a plain runtime holds %d KiB", was>>10)
		}
	}
}

// hoards is a script that keeps another 256 KiB with each message, up to 2048 times, in one of several ways.
const hoards = `
const kept = [];
const more = () => 'x'.repeat(1 << 18) + n;
const ways = {
	variable() { kept.push(more()); },
	timer() { setTimeout(() => {}, 1e8, more()); },
	interval() { const a = more(); setInterval(() => a.length, 1e8); },
	loop() { (async () => { const a = more(); for (;;) { await new Promise(r => setTimeout(r, 1e8)); a.length; } })(); },
	rejected() { const a = more(); new Promise((_, r) => setTimeout(r, 1e8)).catch(async () => a); },
	promise() { const a = more(); kept.push(new Promise(() => {})); kept[kept.length - 1].then(() => a); },
	method() { const a = more(); kept.push(new Promise(() => {})); kept[kept.length - 1].then({ async m() { return a; } }.m, function () { return a; }); },
};
let n = 0;
exports.ssExports = { init() {},
	onMessage(m) {
		if (n++ < 2048) ways[m.getPayloadAsText()]();
	},
};`

// Values that a script keeps between calls are measured.
func TestWhatIsKeptBetweenCallsIsMeasured(t *testing.T) {
	for _, way := range []string{"variable", "timer", "interval", "loop", "rejected", "promise", "method"} {
		g := start(t, calm(), only(hoards))
		h := g.handler.(*Handler)
		before := h.held(1 << 40)
		for range 4 {
			g.handler.OnMessage(message(1, way))
		}
		if more := h.held(1<<40) - before; more < 1<<20 || more > 5<<18 {
			t.Errorf("%s: %d KiB are measured, 1024 are kept\n%s", way, more>>10, &g.lines)
		}
	}
}

// A script that keeps more with each call is ended, however short its calls are, and the log names the call.
// RL-210.
func TestAScriptThatKeepsMoreWithEachCallEnds(t *testing.T) {
	limits := calm()
	limits.MemoryMax = 16 << 20
	g := start(t, limits, only(hoards))
	calls := 0
	for ; g.exit == nil && calls < 1e5; calls++ {
		g.handler.OnMessage(message(1, "variable"))
		time.Sleep(time.Millisecond)
	}
	if g.exit == nil || !strings.Contains(g.crash, "it holds more than 16 MiB of memory") || !strings.Contains(g.lines.String(), "at onMessage (/local/game/server.js:") {
		t.Errorf("after %d calls it goes on, or ended for something else: %q\n%s", calls, g.crash, &g.lines)
	}
}

// A host has thousands of game sessions that wait for players, so a runtime must be small. The test uses the
// estimate, because it does not depend on the garbage collector.
func TestAGameThatWaitsHoldsLittle(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		max    int64
	}{
		"plain": {`
const players = new Map();
let session, logger;
function init(s) { session = s; logger = session.getLogger(); }
function onProcessStarted(args) { logger.debug('started with ' + args.join(' ')); return true; }
function onStartGameSession(gameSession) { logger.info('game session ' + gameSession.GameSessionId); }
function onPlayerConnect() { return true; }
function onPlayerAccepted(player) { players.set(player.peerId, player); }
function onPlayerDisconnect(peerId) { players.delete(peerId); }
function onMessage(message) { session.sendMessage(message, message.sender); }
exports.ssExports = { init, onProcessStarted, onStartGameSession, onPlayerConnect, onPlayerAccepted, onPlayerDisconnect, onMessage, onHealthCheck: () => true };`, 115 << 10},
		"with util": {`
const util = require('util');
exports.ssExports = { init() {}, onProcessStarted(args) { return util.inspect(args) !== undefined; }, onHealthCheck: () => true };`, 135 << 10},
	} {
		h, err := program(t, c.script).NewHandler(script.Process{Counters: shared})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Init(new(sink)); err != nil {
			t.Fatal(err)
		}
		h.OnProcessStarted([]string{"one", "two"})
		h.OnStartGameSession(&messages.GameSession{ID: "arn:aws:gamelift:game", Properties: []messages.Property{{Key: "map", Value: "moon"}}})
		h.OnHealthCheck()
		if held := h.(*Handler).held(1 << 30); held > c.max {
			t.Errorf("%s: it holds %.1f KiB, more than %d", name, float64(held)/1024, c.max/1024)
		}
		h.(script.Closer).Close()
	}
}
