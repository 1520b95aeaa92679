package js

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/watchdog"
)

// outcome is how a call into a script ends.
type outcome string

const (
	returns     outcome = "returns"     // nothing is wrong
	fails       outcome = "fails"       // an error in the log, the game goes on
	interrupted outcome = "interrupted" // by the watchdog, the game has crashed
	gone        outcome = "stuck"       // not even that helped: the host was told
	ended       outcome = "ended"       // as wanted: interrupted, and not stuck, however busy the machine is
)

var hostile = []struct {
	name, source string
	want         outcome // interrupted includes gone, where a built-in may take long
	says         string  // in the log
}{
	{"endless loop", `for (;;);`, interrupted, "ran for more than 200ms"},
	{"endless loop behind finally", `for (;;) { try { for (;;); } finally { continue; } }`, interrupted, "at onMessage (/local/game/server.js:"},
	{"endless loop behind catch", `for (;;) { try { for (;;); } catch (e) {} }`, interrupted, ""},
	{"loop in a finally", `try { for (;;); } finally { for (;;); }`, interrupted, ""},
	{"iterator that does not return", `for (const x of { [Symbol.iterator]() { return { next: () => ({ value: 1 }), return() { for (;;); } }; } }) for (;;);`, interrupted, ""},
	{"generator with a finally", `for (const x of (function* () { try { yield 1; } finally { for (;;); } })()) for (;;);`, interrupted, ""},
	{"recursion", `(function f() { f(); })();`, fails, "RangeError: Maximum call stack size exceeded"},
	{"recursion behind catch", `(function f() { try { f(); } catch (e) { f(); } })();`, fails, "RangeError"},
	{"recursion through a built-in", `(function f() { [1].forEach(f); })();`, fails, "RangeError"},
	{"recursion through toString", `const o = { toString() { return '' + o; } }; '' + o;`, fails, "RangeError"},
	{"recursion through a getter", `const o = { get x() { return this.x; } }; o.x;`, fails, "RangeError"},
	{"recursion through toJSON", `const o = { toJSON() { return JSON.stringify(o); } }; JSON.stringify(o);`, fails, "RangeError"},
	{"recursion through a proxy", `new Proxy({}, { get(t, k, self) { return self[k]; } }).x;`, fails, "RangeError"},
	{"recursion in a promise job", `Promise.resolve().then(function f() { f(); });`, fails, "RangeError"},
	{"proxy with endless keys", `Object.keys(new Proxy({}, { ownKeys() { for (;;); } }));`, interrupted, ""},
	{"regular expression that explodes", `if (/^(a+)+$/.test('a'.repeat(50) + 'b')) throw 1;`, returns, ""},
	{"regular expression with a back reference that explodes", `/^(a+)+\1$/.test('a'.repeat(50) + 'b');`, fails, "RangeError: a match of a regular expression took more than"},
	{"regular expression that looks ahead and explodes", `/^(?=.*a)(a+)+$/.exec('a'.repeat(50) + 'b');`, fails, "RangeError: a match of"},
	{"regular expression that looks ahead and explodes in a with", `with ({}) /^(?=.*a)(a+)+$/.exec('a'.repeat(50) + 'b');`, fails, "RangeError: a match of"},
	{"regular expression that explodes in a replacement", `'éx'.concat('a'.repeat(50), 'b').replace(/x|(a+)+$/g, () => 'x');`, fails, "RangeError: a match of"},
	{"regular expression that explodes in a split", `('a'.repeat(50) + 'b').split(/(?=a)(a+)+$/);`, fails, "RangeError: a match of"},
	{"regular expression that explodes in all matches", `[...('a'.repeat(50) + 'b').matchAll(/(?=a)(a+)+$/g)];`, fails, "RangeError: a match of"},
	{"regular expression that explodes later in a text", `const r = /(a+)+$/g; r.lastIndex = 1; r.exec('b' + 'a'.repeat(50) + 'b');`, fails, "RangeError: a match of"},
	{"regular expression that explodes behind catch", `for (;;) try { /^(?=.*a)(a+)+$/.test('a'.repeat(50) + 'b'); } catch (e) {}`, interrupted, "ran for more than 200ms"},
	{"regular expression of many slow matches", `('b'.repeat(500) + 'a'.repeat(19)).match(/b(?!b*(a+)+c)/g);`, ended, "ran for more than 200ms"},
	{"regular expression of many slow replacements", `('b'.repeat(500) + 'a'.repeat(19)).replace(/b(?!b*(a+)+c)/g, '');`, ended, "ran for more than 200ms"},
	{"regular expression of many slow splits", `('b'.repeat(500) + 'a'.repeat(19)).split(/b(?!b*(a+)+c)/);`, ended, "ran for more than 200ms"},
	{"regular expression of many slow matches, of a class of the script's", `class R extends RegExp {} ('b'.repeat(500) + 'a'.repeat(19)).match(new R('b(?!b*(a+)+c)', 'g'));`, ended, "ran for more than 200ms"},
	{"regular expression of many slow splits, of a class of the script's", `class R extends RegExp {} ('b'.repeat(500) + 'a'.repeat(19)).split(new R('b(?!b*(a+)+c)'));`, ended, "ran for more than 200ms"},
	{"call that no interrupt ends", `((o) => { for (let i = 0; i < 1e3; i++) o = Object.create(o); Array.prototype.indexOf.call(Object.assign(o, { length: 1e7 }), 1); })({});`, gone, ""},
	{"search without end", `Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);`, fails, "RangeError: a list of 9007199254740991 is too long for indexOf"},
	{"allocation", `const a = []; for (;;) a.push(new Array(1000).fill(1));`, interrupted, ""},
	{"array of 50 million filled", `new Array(5e7).fill(0);`, fails, "RangeError: a list of 50000000 is too long for fill"},
	{"nearly empty array filled", `const z = []; z.length = 4e9; z.fill(0);`, fails, "RangeError: a list of 4000000000 is too long for fill"},
	{"nearly empty array spread", `const z = []; z.length = 4e9; [...z];`, fails, "RangeError: a list of 4000000000 is too long for values"},
	{"nearly empty array in arguments", `const z = []; z.length = 4e9; Math.max(...z);`, fails, "RangeError: a list of 4000000000 is too long for values"},
	{"nearly empty array taken apart", `const z = []; z.length = 4e9; const [first, ...others] = z;`, fails, "RangeError: a list of 4000000000 is too long for values"},
	{"nearly empty array in a set", `const z = []; z.length = 4e9; new Set(z);`, fails, "RangeError: a list of 4000000000 is too long for values"},
	{"nearly empty array moved", `const z = []; z.length = 4e9; z.copyWithin(1, 0);`, fails, "too long for copyWithin"},
	{"nearly empty array joined", `const z = []; z.length = 4e9; z.join();`, fails, "too long for join"},
	{"nearly empty array as text", `const z = []; z.length = 4e9; '' + z;`, fails, "too long for join"},
	{"array made of a length", `Array.from({ length: 1e12 });`, fails, "too long for Array.from"},
	{"text of many long texts", `new Array(1e5).fill('x'.repeat(1e5)).join('');`, fails, "RangeError: Invalid string length"},
	{"text put together of long texts", `''.concat(...new Array(1e5).fill('x'.repeat(1e5)));`, fails, "RangeError: Invalid string length"},
	{"replacement that multiplies", `'a'.repeat(1e5).replaceAll('a', 'b'.repeat(1e5));`, fails, "RangeError: Invalid string length"},
	{"replacement by what is around", `'a'.repeat(4e4).replace(/a/g, "$'");`, fails, "RangeError: Invalid string length"},
	{"replacement by a function that multiplies", `const b = 'b'.repeat(1e5); 'a'.repeat(1e4).replace(/a/g, () => b);`, ended, ""},
	{"text of millions normalized", `'\u1e9b\u0323'.repeat(2e7).normalize('NFKD');`, fails, "too long to be normalized"},
	{"text made a list", `[...'x'.repeat(2e7)];`, fails, "too long for an iterator"},
	{"text split into characters", `'x'.repeat(2e7).split('');`, fails, "too long for split"},
	{"keys of a text", `Object.keys('x'.repeat(2e7));`, fails, "too long for keys"},
	{"prototype chain through a proxy back into itself", `const a = {}; Object.setPrototypeOf(a, new Proxy(a, {})); a.x;`, fails, "Cyclic __proto__ value"},
	{"prototype chain through a proxy, by __proto__", `const a = {}; a.__proto__ = new Proxy(a, {}); a.x;`, fails, "Cyclic __proto__ value"},
	{"prototype chain through a proxy, by Reflect", `const a = {}; Reflect.setPrototypeOf(a, new Proxy(Object.create(a), {})); a.x;`, fails, "Cyclic __proto__ value"},
	{"prototype chain through a proxy of a proxy", `const a = {}, p = new Proxy(a, {}); Object.setPrototypeOf(new Proxy(a, {}), p); a.x;`, fails, "Cyclic __proto__ value"},
	{"prototype chain through a handler", `const h = {}, p = new Proxy({}, h); Object.setPrototypeOf(h, p); p.x;`, fails, "Cyclic __proto__ value"},
	{"proxies of proxies", `let p = {}; for (let i = 0; i < 1e6; i++) p = new Proxy(p, {}); p.x;`, fails, "more than 1000 proxies"},
	{"proxies behind prototypes", `let p = {}; for (let i = 0; i < 1e6; i++) p = Object.create(new Proxy(p, {})); p.x;`, fails, "more than 1000 proxies"},
	{"handlers of handlers", `let p = {}; for (let i = 0; i < 1e6; i++) p = new Proxy({}, p); p.x;`, fails, "more than 1000 proxies"},
	{"deep value made JSON", `let a = []; for (let i = 0; i < 2e4; i++) a = [a]; JSON.stringify(a);`, fails, "nested too deeply for JSON.stringify"},
	{"circle made JSON", `const a = { b: {} }; a.b.a = a; JSON.stringify(a);`, fails, "circular"},
	{"big number in text", `new Function('return 1n << 2n ** 40n')();`, fails, "does not have BigInt"},
	{"big number in a direct eval", `eval('1n << 2n ** 40n');`, fails, "does not have BigInt"},
	{"BigInt by another name", `if (typeof globalThis['Big' + 'Int'] !== 'undefined' || 'getBigInt64' in DataView.prototype || typeof BigInt64Array !== 'undefined') throw 1;`, returns, ""},
	{"huge regular expression", `new RegExp('a'.repeat(2e7));`, fails, "is too long for the embedded engine"},
	{"regular expression that explodes, hidden", `const s = 'a'.repeat(50) + 'b'; s['mat' + 'ch']('^(?=.*a)(a+)+$');`, fails, "RangeError: a match of"},
	{"string that doubles", `let s = 'x'; for (;;) s += s;`, interrupted, ""},
	{"sort that never agrees", `const a = []; for (let i = 0; i < 2000; i++) a.push(i); a.sort(() => Math.random() - 0.5); a.sort(() => 1); a.sort(() => NaN);`, returns, ""},
	{"sort with an endless comparator", `[1, 2, 3].sort(() => { for (;;); });`, interrupted, ""},
	{"sort that changes its array", `const a = [3, 2, 1]; a.sort(() => { a.length = 0; a.push({}); return -1; });`, fails, "the engine failed"},
	{"promise storm", `(function f() { Promise.resolve().then(f); })();`, interrupted, ""},
	{"promises that double", `(function f() { Promise.resolve().then(f); Promise.resolve().then(f); })();`, interrupted, ""},
	{"endless await", `(async () => { for (;;) await null; })();`, interrupted, ""},
	{"tick storm", `(function f() { process.nextTick(f); })();`, interrupted, ""},
	{"microtask storm", `(function f() { queueMicrotask(f); })();`, interrupted, ""},
	{"timers without end", `for (;;) setTimeout(() => {}, 1e6);`, fails, "RangeError: more than 100 timers wait"},
	{"immediates without end", `for (;;) setImmediate(() => {});`, fails, "RangeError: more than 100 timers wait"},
	{"endless loop in a direct eval", `let i = 0; eval('for (;;) i++;');`, interrupted, "ran for more than 200ms"},
	{"endless loop behind catch in a direct eval", `let i = 0; eval('for (;;) { try { for (;;) i++; } catch (e) {} }');`, interrupted, ""},
	{"endless loop behind finally around a direct eval", `for (;;) { try { let i = 0; eval('for (;;) i++;'); } finally { continue; } }`, interrupted, ""},
	{"endless loop in a function of a direct eval", `let i = 0; eval('(() => { for (;;) i++; })')();`, interrupted, ""},
	{"endless loop in text of a function", `new Function('for (;;);')();`, interrupted, ""},
	{"endless direct evals", `let i = 0; for (;;) eval('i++');`, interrupted, ""},
	{"endless direct eval in a promise job", `Promise.resolve().then(() => { let i = 0; eval('for (;;) i++;'); });`, interrupted, ""},
	{"recursion through a direct eval", `(function f(n) { eval('f(n + 1)'); })(0);`, fails, "RangeError"},
	{"recursion of evals", `globalThis.s = 'eval(s)'; eval(s);`, fails, "does not have a direct eval"},
	{"eval in a switch that declares something, in text", `eval("switch (1) { case 1: let z = 1; eval('z'); }");`, fails, "does not have a direct eval"},
	{"eval in a switch that declares something, in text of a function", `new Function("a = [1", "2]", "switch (1) { case 1: let z = 1; \\u0065val('z'); }")();`, fails, "does not have a direct eval"},
	{"deep source in an indirect eval", `(0, eval)('['.repeat(5e6));`, fails, "nested too deeply"},
	{"deep source in an eval of the global object", `globalThis.eval('['.repeat(5e6));`, fails, "nested too deeply"},
	{"deep source in an eval of an eval", `eval("eval('['.repeat(5e6))");`, fails, "does not have a direct eval"},
	{"deep source in an argument of a direct eval", `eval((0, eval)('['.repeat(5e6)));`, fails, "nested too deeply"},
	{"deep source in an eval of another name", `const e = eval; eval('1'); e('['.repeat(5e6));`, fails, "nested too deeply"},
	{"deep source", `eval('['.repeat(5e6));`, fails, "nested too deeply"},
	{"deep source in a function", `new Function('return ' + '['.repeat(5e6));`, fails, "nested too deeply"},
	{"deep source in the parts of a function", `new Function(...new Array(3000).fill('['.repeat(290)));`, fails, "nested too deeply"},
	{"deep source in an async function", `(async () => {}).constructor('!'.repeat(5e6));`, fails, "nested too deeply"},
	{"deep JSON", `JSON.parse('['.repeat(5e6));`, fails, "JSON is nested"},
	{"deep JSON objects", `JSON.parse('{"a":'.repeat(1e6));`, fails, "JSON is nested"},
	{"deep array made flat", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; if (a.flat(Infinity).length) throw 1;`, returns, ""},
	{"bytes without number", `new Float64Array(2 ** 35);`, fails, "RangeError: Array buffer allocation failed"},
	{"bytes without number in a buffer", `new ArrayBuffer({ valueOf: () => 2 ** 40 });`, fails, "RangeError: Array buffer allocation failed"},
	{"bytes without number from something long", `Uint32Array.from({ length: 2 ** 36 });`, fails, "RangeError: Array buffer allocation failed"},
	{"bytes without number in a class", `class Own extends Uint16Array {} new Own(2 ** 40);`, fails, "RangeError: Array buffer allocation failed"},
	{"sort of nearly nothing", `const a = []; a[4e9] = 1; a.sort();`, fails, "RangeError: a list of 4000000001 is too long for sort"},
	{"arguments without number", `Math.max.apply(null, { length: 2 ** 33 });`, fails, "RangeError: a list of 8589934592 is too long for apply"},
	{"payload of nearly nothing", `const a = []; a[4e9] = 1; session.sendMessage(session.newTextGameMessage(1, 1, a), 1);`, returns, ""},
	{"text without end", `'x'.padEnd(Date.now());`, fails, "RangeError: Invalid string length"},
	{"text that is repeated without end", `'x'.repeat(2 ** 40);`, fails, "RangeError: Invalid string length"},
	{"error of many lines", `throw new Error('y\n'.repeat(2e5));`, fails, "Error in onMessage: Error: y"},
	{"line of many lines", `console.log('\n'.repeat(3e7));`, returns, ""},
	{"many lines", `process.stdout.write('\n'.repeat(3e7));`, interrupted, ""},
	{"error that cannot be printed", `throw { get stack() { throw 1; }, toString() { throw 2; } };`, fails, "Error in onMessage"},
	{"error that is a hostile proxy", `throw new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; }, getPrototypeOf() { throw 3; } });`, fails, "Error in onMessage"},
	{"error whose printing never ends", `throw { get stack() { for (;;); } };`, interrupted, ""},
	{"thenable that throws", `return { get then() { throw new Error('then'); } };`, fails, "then"},
	{"thenable that never ends", `return { then() { for (;;); } };`, interrupted, ""},
	{"globals taken away", `for (const k of Object.getOwnPropertyNames(globalThis)) if (k !== 'Uint8Array') try { delete globalThis[k]; } catch (e) {}`, returns, ""},
	{"prototype of all descriptors", `Object.prototype.get = Object.prototype.set = () => 1; session.getLogger().info('x'); if (session.getPlayers().size) throw 1;`, returns, ""},
	{"prototypes broken", `Array.prototype.slice = Array.prototype.map = Object.keys = Uint8Array.prototype.length = null; Object.prototype.then = 5;`, returns, ""},
}

// TestHostileScripts runs every snippet in a process of its own, so that one that
// harms the host, or cannot be ended, fails its own test alone.
// RL-111, RL-210.
func TestHostileScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process per snippet")
	}
	for i, c := range hostile {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestOneHostileScript$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("HOSTILE=%d", i), "GOMEMLIMIT=1GiB", "GOMAXPROCS=2")
			out, err := cmd.CombinedOutput()
			if len(out) > 2000 {
				out = append(out[:1000], out[len(out)-1000:]...)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestOneHostileScript(t *testing.T) {
	var n int
	if _, err := fmt.Sscan(os.Getenv("HOSTILE"), &n); err != nil {
		t.Skip("run by TestHostileScripts")
	}
	c := hostile[n]
	failed := false
	wrong := func(format string, args ...any) { // os.Exit would keep t's
		failed = true
		fmt.Printf(format+"\n", args...)
	}
	limit := 200 * time.Millisecond
	switch c.want {
	case fails, returns:
		limit = time.Minute // by itself, however busy the machine is
	case gone:
		limit = 2 * time.Second // a busy machine has reached the built-in by then
	}
	limits := script.Limits{Callback: limit, MemoryMax: 256 << 20, TimersMax: 100}
	g := start(t, limits, only(`
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) { if (m.opCode === 1) { `+c.source+` } else session.sendMessage(m, 1); },
};`))
	if c.want != returns && c.want != fails { // those that allocate much would rest for longer than the limit
		other := callWatchdog.Watch(watchdog.Options{}) // another game session: calls are paced
		defer other.Release()
	}
	tellStuck := make(chan string, 1)
	g.stuck = func(reason string) { tellStuck <- reason }
	done := make(chan struct{})
	begun := time.Now()
	go func() {
		g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1})
		close(done)
	}()
	got := outcome("")
	select {
	case reason := <-tellStuck:
		if took := time.Since(begun); took > 30*time.Second || reason == "" {
			wrong("told after %v: %q", took, reason)
		}
		select {
		case <-done:
			wrong("the call came back")
		case <-time.After(50 * time.Millisecond):
		}
		got = gone
	case <-done:
		got = g.judge()
	case <-time.After(2 * time.Minute):
		wrong("still running")
		os.Exit(1)
	}
	want := c.want
	if want == ended {
		want = interrupted
	}
	if got != want && (c.want != interrupted || got != gone) || !strings.Contains(g.lines.String(), c.says) {
		wrong("it %s, want %s (%q)\n%s", got, c.want, c.says, &g.lines)
	}
	if took := time.Since(begun); got != returns && got != fails && took > 30*time.Second {
		wrong("it took %v", took)
	}
	if got == returns || got == fails { // the game goes on
		g.sent = nil
		g.handler.OnMessage(&script.Message{OpCode: 2, Sender: 1, Payload: []byte("ok")})
		if len(g.sent) != 1 {
			wrong("afterwards: %q\n%s", g.sent, &g.lines)
		}
	} else if n := g.counters.ScriptInterrupts.Load(); n != 1 {
		wrong("%d interrupts counted", n)
	}
	if failed {
		os.Exit(1)
	}
	os.Exit(0) // a goroutine may be stuck
}

// judge says how the last call ended, from what it left.
func (g *game) judge() outcome {
	switch {
	case g.crash != "" && strings.Contains(g.crash, "interrupted"):
		return interrupted
	case g.exit != nil:
		return outcome("crashed: " + g.crash)
	case strings.Contains(g.lines.String(), "[ERROR]"):
		return fails
	default:
		return returns
	}
}
