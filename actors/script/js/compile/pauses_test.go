package compile

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"
)

// unchanged are snippets that must log the same with and without yield points.
var unchanged = []struct {
	name, text string
	looks      int // minimum number of yield points reached
}{
	{"for", `for (let i = 0; i < 3; i++) { log(i); } for (var j = 0; j < 2; j++) log(j); log(j); let k = 0; for (; k < 2; k++); log(k); for (;;) { if (k++ > 4) break; } log(k);`, 11},
	{"while", `let i = 0; while (i < 3) i++; log(i); while (i-- > 0) { if (i === 1) continue; log(i); } while (false) log('never');`, 6},
	{"do while", `let i = 0; do i++; while (i < 3); log(i); do { if (i === 1) continue; log(i); } while (--i > 0); do ; while (i++ < 2); do log('once'); while (false)`, 9},
	{"for of", `for (const x of [1, 2, 3]) log(x); for (const [a, { b = 5 }] of [[1, {}], [2, { b: 3 }]]) { log(a, b); } let y; for (y of 'ab') ; log(y); for (const c of new Map([[1, 2]])) log(c);`, 8},
	{"for in", `for (const k in { a: 1, b: 2 }) log(k); for (var v in [7, 8]) { log(v); } log(v); const o = {}; for (o.p in { z: 1 }); log(o);`, 5},
	{"iterators that are closed", `const it = { [Symbol.iterator]() { let n = 0; return { next: () => ({ value: n++, done: false }), return() { log('closed', n); return {}; } }; } }; for (const x of it) if (x > 2) break; let m = 0; out: for (const x of it) { if (m++ > 2) break; for (const y of it) continue out; }`, 10},
	{"labels", `outer: for (let i = 0; i < 3; i++) { inner: for (let j = 0; ; j++) { if (j === 2) continue outer; if (i === 2) break outer; log(i, j); if (j === 1) continue inner; } } let n = 0; a: while (n++ < 3) { do { if (n === 1) continue a; if (n === 2) continue; break a; } while (n++ < 2); } log(n); block: { for (;;) break block; }`, 10},
	{"switch in loops", `for (let i = 0; i < 4; i++) { switch (i) { case 1: continue; case 2: { log('two'); break; } default: log(i); } log('after', i); } l: while (true) switch (1) { case 1: break l; }`, 5},
	{"closures per turn", `const f = []; for (let i = 0; i < 3; i++) f.push(() => i++); for (const x of [7, 8]) f.push(() => x); for (let i = 0, g = () => i; i < 2; i++) f.push(g); for (let i = 0; i < 2; i++) { let j = i * 2; f.push(() => [i, j]); } log(f.map(g => [g(), g()]));`, 15},
	{"shadowed names", `for (let i = 0; i < 1; i++) { let i = 'inner'; log(i); { let i = 5; log(i); } } try { for (let i = 0; i < 1; i++) { log(i); log(later); let later = 1; } } catch (e) { log(e.name); }`, 2},
	{"functions in blocks", `log(typeof inner); for (let i = 0; i < 1; i++) { log(inner()); function inner() { return 'in'; } } log(typeof inner); while (true) { function other() {} break; } log(other.name, hoisted()); function hoisted() { return 'h'; }`, 3},
	{"generators", `function* g(a = 1) { log('begun', a); try { let x = yield a; while (x < 3) x = yield x * 2; return x; } finally { log('finally'); } } const i = g(5); log(i.next(), i.next(1), i.next(2), i.next(3), i.next()); const j = g(); j.next(); log(j.return(9), [...g()].length); try { const t = g(); t.next(); t.throw(new Error('t')); } catch (e) { log(e.message); } function* d() { yield* g(); yield* [1, 2]; } for (const x of d()) { if (x === 1) break; log(x); }`, 8},
	{"async", `const wait = async v => { await null; return v; }; async function f(n) { let s = 0; for (let i = 0; i < n; i++) s += await wait(i); return s; } (async () => { log(await f(4)); try { await (async () => { for (;;) throw new Error('a'); })(); } catch (e) { log(e.message); } finally { log('done'); } for await (const x of [wait(1), 2]) log(x); })(); Promise.all([wait(1), f(2)]).then(v => log(v)); log('first');`, 12},
	{"async generators", `async function* g() { for (let i = 0; i < 3; i++) { await null; yield i; } } (async () => { for await (const x of g()) log(x); })();`, 6},
	{"try and finally in loops", `function f() { for (let i = 0; ; i++) { try { if (i === 1) continue; if (i === 3) return 'r' + i; log(i); } finally { log('f', i); if (i === 2) continue; } } } log(f()); while (true) { try { break; } finally { log('out'); } } do { try { throw 1; } catch { continue; } finally { log('c'); } } while (false); function g() { for (;;) try { return 1; } finally { break; } return 2; } log(g());`, 9},
	{"classes", `class A { #p = 1; static s = [1, 2].map(x => x * 2); f = () => this.#p; static { for (const x of this.s) log(x); } constructor(n) { this.n = n; } get p() { return this.#p; } set p(v) { for (let i = 0; i < v; i++) this.#p++; } static m() { return 'static'; } *[Symbol.iterator]() { yield this.n; } async a() { return this.n; } } class B extends A { constructor() { const n = 4; super(n); this.q = super.p; } get p() { return super.p + 100; } } const b = new B(); b.p = 3; log(A.s, b.f(), b.p, b.n, b.q, A.m(), [...b], B.name, A.length); b.a().then(v => log(v)); class C extends B {} log(new C().n); try { A(); } catch (e) { log(e.message); }`, 12},
	{"getters and setters", `const o = { v: 1, get x() { return this.v++; }, set x(n) { while (n-- > 0) this.v += 10; }, m() { return super.toString === Object.prototype.toString; } }; o.x = 2; log(o.x, o.x, o.m(), Object.getOwnPropertyDescriptor(o, 'x').get.name); Object.defineProperty(o, 'y', { get: () => 'arrow' }); log(o.y);`, 6},
	{"parameters", `function f(a, b = a + 1, { c = b * 2, ...d } = {}, [e] = [() => c], ...g) { return [a, b, c, d, e(), g, arguments.length, f.length]; } log(f(1), f(1, 2, { c: 3, z: 4 }, [() => 5], 6, 7)); const h = (x, y = () => x) => { x = 2; return y(); }; log(h(1)); function s(a) { a = 5; return arguments[0]; } log(s(1)); function t(a) { 'use strict'; a = 5; return arguments[0]; } log(t(1)); log((function () { return arguments.length; })(1, 2, 3), arguments.length);`, 8},
	{"what comes before a body", `const f = (n = Math.max(1, 2), g = () => 1, h = function () {}, C = class {}, m = n, [x] = [n + 1], { y = String(n), z = () => 1 } = {}) => [n, g.name, h.name, C.name, m, x, y, z.name]; log(f(), f.length, f(5)); for (const { k, l = f(), w = n => n } of [{ k: 1 }, { k: 2, l: 3 }]) log(k, l, w.name); function* g(a = f()) { yield a; } log([...g()]); class A { n = f(); g = () => 1; h = function () {}; C = class {}; s = this.n.length; static t = f(); #p = f(1); e = (0, eval)('1'); get p() { return this.#p; } } const a = new A(); log(a, a.g.name, a.h.name, a.C.name, A.t, a.p); class B extends A { n = this.p; t = new.target; } log(new B().n, new B().t); log(((a = eval('1 + 1'), b = a) => b)(), (function (a = arguments.length) { return a; })());`, 10},
	{"arrows", `log((() => {})(), (() => ({}))(), (x => y => x + y)(1)(2), (() => function () {})().name, (() => class {})().name, ((a, b) => a, 7), (() => (1, 2))()); const named = () => 1; log(named.name, named.length, (() => 'use strict')()); log([3, 1, 2].sort((a, b) => a - b), 'abc'.replace(/b/, m => m + m)); const self = this; log((() => this === self)()); (async x => await x)(3).then(log);`, 13},
	{"directives", `function sloppy() { return this === undefined; } function strict() { 'use strict'; return this === undefined; } function two() { 'other'; "use strict"; return this === undefined; } function none() { log(0); 'use strict'; return this === undefined; } const a = () => { 'use strict'; try { undeclared = 1; return 'set'; } catch (e) { return e.name; } }; log(sloppy(), strict(), two(), none(), a()); const text = () => 'use strict'; log(text()); function* g() { 'use strict'; yield this === undefined; } log([...g()]);`, 7},
	{"new.target and this", `function F() { log(new.target === F, this instanceof F); if (!new.target) return; return { own: 1 }; } log(new F().own); F.call({}); const o = { f() { return (() => this === o)(); } }; log(o.f()); log(typeof exports, this === exports);`, 4},
	{"source text", `function f ( a ) { /* c */ for ( ; ; ) break ; } const g = x  =>  x; class C { m () { while (0) ; } } log(f.toString(), '' + g, String(C), C.prototype.m.toString());`, 0},
	{"stacks", "const where = () => new Error('w').stack;\nfunction f(n) {\n  for (let i = 0; i < 2; i++) {\n    if (i === n) log(where());\n  }\n}\nf(0); f(1);\nclass A { constructor() { log(where()); } get g() { return where(); } }\nlog(new A().g);\n[1].forEach(() => log(where()));\nfor (const x of [1]) log(where());\nlet n = 0; do log(where()); while (n++ < 1);\n(async () => { await null; log(where()); })();\nlog([...(function* () { yield where(); })()]);", 12},
	{"errors", "try { for (const x of [1]) x = 2; } catch (e) { log(e.stack); }\ntry { for (let i = 0; ;) null.f; } catch (e) { log(e.stack); }\ntry {\n  (() => gone)();\n} catch (e) { log(e.stack); }\ntry { for (const x of 5); } catch (e) { log(e.stack); }\ntry { (a => a.b.c)({}); } catch (e) { log(e.stack); }", 4},
	{"eval", `var v = 1; log(eval('v + 1'), eval('for (var q = 0; q < 3; q++) q;'), (0, eval)('typeof log'), eval('(function () { return arguments.length; })(1)')); function f(code) { eval(code); for (let i = 0; i < 1; i++) { log(typeof z); } return () => { while (true) { return z; } }; } log(f('var z = 4')()); log(new Function('a', 'for (;;) return a;')(3));`, 3},
	{"sums", "let s = 'a', n = 1; const o = { s: 'b', ['k' + n]: s + s, m(a = s + n, { b = a + s, ...c } = { ...o, x: s + 1 }) { return a + b + Object.keys(c); } }; s += s += n += 2; o.s += s; o['s'] += o.s; log(s, n, o, o.m(), -(s + s), typeof (n + n), `${s}${s + `${n}`}`, [...s + s], [s + s, ...[1], , s + 1], { ...o, s: s + n }, (s + 'x').length, new Array(n + n).length, Math.max(n + n, ...[n + 1])); class C extends (n + n && Object) { static a = s + s; ['b' + n] = this.constructor.a + this.z; z = n + n; #p = s + s; static { log(this.a + s); } get p() { return this.#p += 'p'; } } log(new C(), new C().p); const [x = s + s, [...y] = [n + n], { z, ...w } = { z: 1, v: s + s }] = []; log(x, y, z, w); let q; [q = s + s, ...o.rest] = [undefined, s + s, 2]; log(q, o.rest, ((a, b) => a + b)(s, n), (String.raw`a${s + s}b` + s)); for (let i = 0 + n; i + 1 < 5; i += 1) log(i + s); switch (s + n) { case 'aa3' + n: log('case'); } try { throw s + s; } catch (e) { log(e + s); } log(null + undefined, [] + {}, true + 1, s + s + s + s + s + s + s + (n + n), s?.length + 1, (s + s)?.[0], delete o[s + s]); (async () => log(await (s + s)))(); log([...(function* () { yield s + s; })()]); lab: { log(void (s + s)); } if (s + s) log(s + s ? s + 1 : s + 2);", 5},
	{"the name itself", `const troupe = 1, pause = 2, troupe_pause = 3, at = 4; var \u0074roupe\u0020 = 5;`, -1},
	{"names that look like it", `const troupe = 1, pause = 2, troupe_pause = 3, at = 4, o = { 'troupe pause': 6, at: 7 }; globalThis['troupe pause'] = 'g'; for (const k in o) log(k, o[k], troupe + pause + troupe_pause + at); log(globalThis['troupe pause']); delete globalThis['troupe pause']; log(Object.keys(globalThis).includes('troupe pause'), typeof arguments[5]);`, 2},
	{"recursion", `const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); log(fib(10)); function deep(n) { return n === 0 ? 0 : 1 + deep(n - 1); } log(deep(500)); const even = n => n === 0 || odd(n - 1), odd = n => n !== 0 && even(n - 1); log(even(51));`, 500},
	{"built-ins that call back", `log([1, 2, 3].map(x => x * 2).filter(x => x > 2).reduce((a, b) => a + b), Array.from({ length: 3 }, (_, i) => i), JSON.stringify({ a: 1, b: [2] }, (k, v) => typeof v === 'number' ? v + 1 : v), JSON.parse('[1,2]', (k, v) => Array.isArray(v) ? v : v + 1), [...'ab'].flatMap(c => [c, c]), [5, 1].toString()); new Map([[1, 2]]).forEach((v, k) => log(k, v)); log(String({ toString() { return 'ts'; } }), +{ valueOf: () => 4 }, ` + "`${(() => 't')()}`" + `);`, 15},
	{"return at the top", `for (const x of [1, 2]) { log(x); if (x === 1) return; } log('never');`, 1},
}

// outcome returns what a snippet logs and throws, and the number of yield points reached.
func outcome(r *goja.Runtime, p *goja.Program, pause func(), depth int) (log []string, n int) {
	r.SetMaxCallStackSize(depth)
	l := newLooks(r, pause)
	say := func(err error) {
		if err != nil {
			log = append(log, err.Error())
		}
	}
	text := func(v goja.Value) string {
		json, _ := goja.AssertFunction(r.Get("JSON").ToObject(r).Get("stringify"))
		s, err := json(goja.Undefined(), v)
		say(err)
		return s.String()
	}
	_ = r.Set("log", func(c goja.FunctionCall) goja.Value {
		var parts []string
		for _, a := range c.Arguments {
			parts = append(parts, text(a))
		}
		log = append(log, strings.Join(parts, " "))
		return goja.Undefined()
	})
	v, err := r.RunProgram(p)
	say(err)
	f, _ := goja.AssertFunction(v)
	v, err = f(goja.Undefined(), r.NewDynamicObject(l))
	say(err)
	f, _ = goja.AssertFunction(v)
	exports := r.NewObject()
	v, err = f(exports, exports, exports, exports, exports, exports)
	say(err)
	if err == nil {
		log = append(log, "returned "+v.String())
	}
	_, err = r.RunString("0") // promise jobs
	say(err)
	return log, l.n
}

// counts matches the instruction counters that follow positions in stack traces.
var counts = regexp.MustCompile(`(:\d+:\d+)\(\d+\)`)

func inText(log []string) string { return counts.ReplaceAllString(strings.Join(log, "\n"), "$1") }

// plain compiles without yield points. It returns nil if the engine cannot parse the text.
func plain(text string) *goja.Program {
	tree, _, err := parse(Root+"/x.js", text, nil)
	if err != nil {
		return nil
	}
	if err := withEvalSources("x.js", tree, false); err != nil {
		return nil
	}
	withArguments(tree)
	pausable(tree)
	p, _ := goja.CompileAST(tree, false)
	return p
}

func TestPausesChangeNothing(t *testing.T) {
	for _, c := range unchanged {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			p, err := unit(t, "x.js", c.text).Program("x.js")
			if c.looks < 0 {
				if err == nil {
					t.Error("the name is one that a script can write")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			without := plain(c.text)
			if without == nil {
				r := api.Transform(c.text, api.TransformOptions{Target: api.ES2022, Supported: supported, Format: api.FormatCommonJS, Platform: api.PlatformNode})
				without = plain(string(r.Code))
			}
			want, _ := outcome(goja.New(), without, nil, 1000)
			got, n := outcome(goja.New(), p, runtime.Gosched, 1000)
			if g, w := inText(got), inText(want); g != w {
				t.Errorf("with pauses:\n%s\nwithout:\n%s", g, w)
			}
			if n < c.looks+1 { // one is the yield point of the module function
				t.Errorf("%d looks", n)
			}
		})
	}
}

// Recursion can be as deep with yield points as without.
func TestPausesTakeNoStack(t *testing.T) {
	text := `let n = 0; (function f() { n++; for (;;) { f(); } })();`
	overflow := func(p *goja.Program) string {
		log, _ := outcome(goja.New(), p, nil, 300)
		return inText(log)
	}
	p, err := unit(t, "x.js", text).Program("x.js")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := overflow(p), overflow(plain(text)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// If an interrupt ends the code at a yield point, the stack trace shows the position of the loop.
func TestAPauseIsWhereTheLoopIs(t *testing.T) {
	r := goja.New()
	p, err := unit(t, "x.js", "let n = 0;\nfunction spin() {\n  for (;;) {\n    n++;\n  }\n}\nspin();").Program("x.js")
	if err != nil {
		t.Fatal(err)
	}
	turns := 0
	log, _ := outcome(r, p, func() {
		if turns++; turns == 1000 {
			r.Interrupt("enough")
		}
	}, 100)
	if got := strings.Join(log, "\n"); !strings.Contains(got, "enough at spin (/local/game/x.js:3:12(") {
		t.Error(got)
	}
}
