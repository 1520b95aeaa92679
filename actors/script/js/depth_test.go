package js

import (
	"strings"
	"testing"
)

// Every kind of too deep recursion ends with an error that the script can catch. The error has few frames,
// all of them in the script, and the script can run again afterwards. The engine's own error could not be
// caught, and would take long to unwind.
func TestTooDeepRecursionIsCaught(t *testing.T) {
	for i, source := range []string{
		`(function f() { f(); })();`,
		`const f = () => f(); f();`,
		`(function f() { [1].forEach(f); })();`,
		`(function f() { [2, 1].sort(f); })();`,
		`(function f() { Array.from([1], f); })();`,
		`(function f() { new Map([[1, 1]]).forEach(f); })();`,
		`(function f() { 'x'.replace('x', f); })();`,
		`(function f() { 'x'.replace(/x/, f); })();`,
		`(function f() { JSON.parse('[1]', f); })();`,
		`(function f() { f.call(); })();`,
		`(function f() { Reflect.apply(f, null, []); })();`,
		`(function f() { f.bind()(); })();`,
		`const o = { toString() { return '' + o; } }; '' + o;`,
		`const o = { valueOf() { return o * 1; } }; o * 1;`,
		`const o = { [Symbol.toPrimitive]() { return o * 1; } }; o * 1;`,
		`const o = { toJSON() { return JSON.stringify(o); } }; JSON.stringify(o);`,
		`const o = { get x() { return this.x; } }; o.x;`,
		`const o = { set x(v) { this.x = v; } }; o.x = 1;`,
		`const o = { get x() { return Object.assign({}, o); } }; o.x;`,
		`new Proxy({}, { get(t, k, self) { return self[k]; } }).x;`,
		`const f = new Proxy(function () {}, { apply() { return f(); } }); f();`,
		`const f = new Proxy(function () {}, { construct() { return new f(); } }); new f();`,
		`const p = new Proxy({}, { ownKeys() { return Reflect.ownKeys(p); } }); Object.keys(p);`,
		`class F { static [Symbol.hasInstance]() { return 1 instanceof F; } } 1 instanceof F;`,
		`const a = { [Symbol.iterator]() { return [...a]; } }; [...a];`,
		`const a = { [Symbol.iterator]() { const [x] = a; } }; [...a];`,
		`function* g() { yield* g(); } g().next();`,
		`function* g() { for (const x of g()) yield x; } g().next();`,
		`const f = (s) => f` + "`${s}`" + `; f('');`,
		`class A { constructor() { new A(); } } new A();`,
		`class A { constructor() { new B(); } } class B extends A {} new B();`,
		`class A { x = new A(); } new A();`,
		`class A { x = '' + new A(); } new A();`,
		`class A { static get x() { return new (class { y = A.x; })(); } } A.x;`,
		`function f(a = f()) {} f();`,
		`const f = (a = f()) => {}; f();`,
		`const f = ({ a } = f()) => {}; f();`,
		`const f = ({ a = f({}) }) => {}; f({});`,
		`const o = {}; o.toString = function (a = '' + o) {}; '' + o;`,
		`globalThis.s = '(0, eval)(s)'; (0, eval)(s);`,
		`globalThis.f = new Function('f()'); f();`,
		`const f = x => eval('f(1)'); f(1);`,
		`const e = new (require('events'))(); e.on('x', () => e.emit('x')); e.emit('x');`,
		`const e = new (require('events'))(); e.on('x', e.emit.bind(e, 'x')); e.emit('x');`,
		`const u = require('util'), o = { [u.inspect.custom]() { return u.inspect(o); } }; u.inspect(o);`,
		`const l = [1]; l.toString = () => l.join.call([l]); '' + l;`,
		`const l = [1]; l.join = l.toString; '' + l;`,
		`const o = {}; o.toString = String.prototype.concat.bind('', o); '' + o;`,
		`const m = session.newTextGameMessage(1, 1, 'x'); (function f() { session.sendMessage(m, 1); f(); })();`,
		`(function f() { try { f(); } finally { [1]; } })();`,
		`const o = { toString() { try { return '' + o; } finally { [1]; } } }; '' + o;`,
		`const o = { toString() { try { return '' + o; } catch (e) { throw e; } } }; '' + o;`,
	} {
		if raceOn && i%6 != 0 { // make test runs all rows without the race detector
			continue
		}
		g := start(t, calm(), body(`onMessage() {
  try { `+source+` } catch (e) {
    logger.info(e instanceof RangeError && e.message === 'Maximum call stack size exceeded' ? 'caught' : 'other', e.stack.split('\n').length);
    throw e;
  }
}, onSendToPlayer() { const deep = (n) => n === 0 ? 0 : 1 + deep(n - 1); logger.info('goes on', deep(3000)); }`))
		g.handler.OnMessage(message(1, ""))
		g.handler.OnSendToPlayer(message(1, ""))
		lines := g.lines.String()
		if !strings.Contains(lines, "caught ") || !strings.Contains(lines, "Error in onMessage: RangeError: Maximum call stack size exceeded") || !strings.Contains(lines, "goes on 3000") || g.crash != "" {
			t.Errorf("%s: crash %q\n%s", source, g.crash, lines)
		}
		if n := strings.Count(lines, "\n"); n > 3*framesMax || strings.Contains(lines, "<native>") {
			t.Errorf("%s: %d lines\n%s", source, n, lines)
		}
		if h := g.handler.(*Handler); h.natives != 0 || h.overflows || h.calls.Depth() != 0 {
			t.Errorf("%s: afterwards %d built-ins, %d calls", source, h.natives, h.calls.Depth())
		}
	}
}

// The log shows a position in the script even if all the innermost frames belong to host functions.
func TestAnOverflowInFunctionsOfTheHostHasThePlaceOfTheScript(t *testing.T) {
	g := start(t, calm(), body(`onMessage() {
  const e = new (require('events'))(); e.on('x', e.emit.bind(e, 'x'));
  e.emit('x');
}`))
	g.handler.OnMessage(message(1, ""))
	g.logged(t, "[ERROR] (server.js) 5: Error in onMessage: RangeError")
}

// With all its 4,000 frames, an error that the script keeps would take 128 KiB.
func TestOverflowsThatAreKeptTakeLittle(t *testing.T) {
	g := start(t, calm(), body(`onMessage() { const d = () => d(); this.all = []; for (let i = 0; i < 200; i++) try { d(); } catch (e) { this.all.push(e); } logger.info(this.all.length); }`))
	before := g.handler.(*Handler).held(1 << 30)
	g.handler.OnMessage(message(1, ""))
	g.logged(t, ": 200\n")
	if grown := g.handler.(*Handler).held(1<<30) - before; grown > 1<<20 {
		t.Errorf("200 errors take %d KiB", grown>>10)
	}
}

// A script at the maximum recursion depth can still call host functions.
func TestTheHostsFunctionsHaveRoomAtTheBottom(t *testing.T) {
	g := start(t, calm(), body(`onMessage() {
  let deepest = 0;
  const m = session.newTextGameMessage(1, 1, 'x'), d = (n) => { deepest = n; try { d(n + 1); } finally { if (n === deepest) { session.sendMessage(m, 1); session.sendReliableGroupMessage({ opCode: '2', payload: 'x' }, '3'); console.log('%o', { n }); } } };
  try { d(1); } catch (e) { logger.info('deepest', deepest > 3900, e.name); }
}`))
	g.handler.OnMessage(message(1, ""))
	g.logged(t, "{ n: ", "deepest true RangeError")
	if len(g.sent) == 0 {
		t.Error("nothing was sent")
	}
}
