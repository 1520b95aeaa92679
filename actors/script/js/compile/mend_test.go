package compile

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// mended are snippets that log which arguments arrow functions see and what evals return, each with the
// output of Node.js 20.
var mended = []struct{ name, text, want string }{
	{"called later", `function later(f) { return function () { return () => f.apply(this, arguments); }; } log(later((a, b) => a + b)(1, 2)());`, `3`},
	{"typeof", `function o() { return (() => typeof arguments)(); } log(o());`, `"object"`},
	{"returned", `function f() { return () => arguments; } log([...f(1, 2)()]);`, `[1,2]`},
	{"block body", `function f() { const g = () => { return arguments.length; }; return g(); } log(f(1, 2, 3));`, `3`},
	{"in a nested arrow", `function f() { return () => () => () => arguments[1]; } log(f(1, 2)()()());`, `2`},
	{"both in the arrow and in the one inside", `function f() { return () => [arguments[0], (() => arguments[1])()]; } log(f(1, 2)());`, `[1,2]`},
	{"several arrows", `function f() { const a = () => arguments[0], b = () => arguments[1]; return [a(), b()]; } log(f(1, 2));`, `[1,2]`},
	{"the function itself after the arrow", `function f() { const a = () => arguments[0]; return [a(), arguments[1]]; } log(f(1, 2));`, `[1,2]`},
	{"the function itself before the arrow", `function f() { const n = arguments.length; return (() => n + arguments[0])(); } log(f(1, 2));`, `3`},
	{"a function in the arrow has its own", `function f() { return () => function () { return (() => arguments[0])(); }; } log(f(1)()(2));`, `2`},
	{"a function in the arrow has its own, and the arrow", `function f() { return () => [arguments[0], (function () { return (() => arguments[0])(); })(2)]; } log(f(1)());`, `[1,2]`},
	{"function expression", `log((function () { return (() => arguments.length)(); })(1, 2));`, `2`},
	{"named function expression that calls itself", `log((function f(n) { return n === 0 ? [] : [(() => arguments[0])(), ...f(n - 1)]; })(3));`, `[3,2,1]`},
	{"method", `log({ m() { return (() => arguments[0])(); } }.m(1));`, `1`},
	{"getter", `log({ get g() { return (() => arguments.length)(); } }.g);`, `0`},
	{"setter", `const o = { set s(v) { log((() => arguments[0] === v && arguments.length)()); } }; o.s = 1;`, `1`},
	{"computed method", `log({ ['a' + 1]() { return (() => arguments[0])(); } }.a1(5));`, `5`},
	{"constructor", `class A { constructor() { this.x = (() => arguments[0])(); } } log(new A(1).x);`, `1`},
	{"derived constructor", `class A { constructor(...a) { this.a = a; } } class B extends A { constructor() { const f = () => super(...arguments, 'x'); f(); } } log(new B(1, 2).a);`, `[1,2,"x"]`},
	{"class method, getter, setter, static", `class A { m() { return (() => arguments[0])(); } get g() { return (() => arguments.length)(); } set s(v) { log((() => arguments[0])()); } static t() { return (() => arguments[0])(); } #p() { return (() => arguments[0])(); } q() { return this.#p(7); } } const a = new A(); a.s = 9; log(a.m(1), a.g, A.t(2), a.q());`, "9\n1 0 2 7"},
	{"new of a function", `function F() { this.x = (() => arguments.length)(); } log(new F(1, 2).x);`, `2`},
	{"async function", `async function f() { await null; return (() => arguments[0])(); } f(1).then(log);`, `1`},
	{"async function, arrow after an await", `async function f() { const g = () => arguments[0]; await null; return g(); } f(1).then(log);`, `1`},
	{"async arrow", `function f() { return (async () => { await null; return arguments[0]; })(); } f(1).then(log);`, `1`},
	{"async arrow with an expression", `function f() { return (async () => await arguments[0])(); } f(Promise.resolve(4)).then(log);`, `4`},
	{"async arrow in an arrow", `function f() { return (() => async () => { await null; return () => arguments[1]; })(); } f(1, 2)().then(g => log(g()));`, `2`},
	{"async method", `({ async m() { await null; return (() => arguments[0])(); } }).m(3).then(log);`, `3`},
	{"generator", `function* f() { yield (() => arguments[0])(); yield [1, 2].map(x => x + arguments[1]); } log([...f(1, 2)]);`, `[1,[3,4]]`},
	{"generator, arrow made before the first yield", `function* f() { const g = () => arguments.length; yield 1; yield g(); } log([...f(1, 2, 3)]);`, `[1,3]`},
	{"generator method", `log([...{ *m() { yield* [1].map(() => arguments[0]); } }.m(6)]);`, `[6]`},
	{"async generator", `(async function* () { yield (() => arguments[0])(); await null; yield (() => arguments.length)(); })(1, 2).next().then(r => log(r));`, `{"value":1,"done":false}`},
	{"async generator method", `({ async *m() { const g = () => arguments[1]; await null; yield g(); } }).m(1, 2).next().then(r => log(r));`, `{"value":2,"done":false}`},
	{"for await in an arrow", `function f() { return (async () => { let s = 0; for await (const x of [1, 2]) s += x + arguments[0]; return s; })(); } f(10).then(log);`, `23`},
	{"strict function", `function f() { 'use strict'; return (() => [arguments[0], typeof arguments])(); } log(f(1));`, `[1,"object"]`},
	{"strict, directive first", `function f(a) { 'use strict'; a = 2; return [(() => arguments[0])(), (function () { return this === undefined; })()]; } log(f(1));`, `[1,true]`},
	{"directive in the arrow", `function f() { return () => { 'use strict'; return [arguments[0], (function () { return this === undefined; })()]; }; } log(f(1)());`, `[1,true]`},
	{"mapped, parameter changed", `function f(a) { const g = () => arguments[0]; a = 2; return g(); } log(f(1));`, `2`},
	{"mapped, arguments changed", `function f(a) { (() => { arguments[0] = 3; })(); return a; } log(f(1));`, `3`},
	{"mapped, changed by the arrow", `function f(a) { (() => { a = 4; })(); return (() => arguments[0])(); } log(f(1));`, `4`},
	{"default parameter", `function f(a = () => arguments.length) { return a(); } log(f(), f(undefined, 1, 2));`, `0 3`},
	{"default parameter that is called at once", `function f(a, b = (() => arguments[0])()) { return b; } log(f(5));`, `5`},
	{"default parameter and body", `function f(a = () => arguments[1]) { return [a(), (() => arguments[1])(), arguments.length]; } log(f(undefined, 7));`, `[7,7,2]`},
	{"default parameter, block body", `function f(a = () => { return arguments[1]; }) { return a(); } log(f(undefined, 8));`, `8`},
	{"default parameter, nested", `function f(a = () => () => arguments[1]) { return a()(); } log(f(undefined, 8));`, `8`},
	{"default parameter, later ones", `function f(a, b = () => [a, c, arguments[0]], c = 3) { a = 9; return b(); } log(f(1));`, `[9,3,1]`},
	{"default parameter of a method", `log({ m(a = () => arguments.length) { return a(); } }.m(undefined, 2));`, `2`},
	{"default parameter of a constructor", `class A { constructor(a = () => arguments.length) { this.n = a(); } } log(new A(undefined, 1).n);`, `2`},
	{"default parameter of a generator", `function* f(a = () => arguments[1]) { yield a(); } log([...f(undefined, 4)]);`, `[4]`},
	{"default parameter of an async function", `async function f(a = () => arguments[1]) { await null; return a(); } f(undefined, 4).then(log);`, `4`},
	{"default parameter of the arrow", `function f() { return ((a = arguments[0]) => a)(); } log(f(1));`, `1`},
	{"default parameter of the arrow, with a body", `function f() { return ((a = arguments[0]) => { return [a, a]; })(); } log(f(1));`, `[1,1]`},
	{"default parameter of the arrow that is an arrow", `function f() { return ((a = () => arguments[0]) => a())(); } log(f(1));`, `1`},
	{"default in a pattern", `function f({ a = () => arguments.length } = {}, [b = () => arguments[2]] = []) { return [a(), b()]; } log(f(undefined, undefined, 3));`, `[3,3]`},
	{"pattern of the arrow", `function f() { return (({ a = arguments[0], b: [c] = [arguments[1]] }) => [a, c])({}); } log(f(1, 2));`, `[1,2]`},
	{"computed key of a pattern of the arrow", `function f() { return (({ [arguments[0]]: a }) => a)({ k: 6 }); } log(f('k'));`, `6`},
	{"rest parameter", `function f(...r) { return (() => [r.length, arguments.length])(); } log(f(1, 2));`, `[2,2]`},
	{"rest after others", `function f(a, b = 2, ...r) { a = 5; return (() => [a, b, r, arguments[0], arguments.length])(); } log(f(1, undefined, 3));`, `[5,2,[3],1,3]`},
	{"pattern parameters", `function f({ a }, [b]) { return (() => [a, b, arguments.length])(); } log(f({ a: 1 }, [2], 3));`, `[1,2,3]`},
	{"a parameter of that name", `function f(arguments) { return (() => arguments)(); } log(f(4));`, `4`},
	{"a parameter of the arrow of that name", `function f() { return (arguments => arguments)(6); } log(f(4));`, `6`},
	{"a parameter of the arrow of that name, and one that has none", `function f() { return [(arguments => arguments)(6), (() => arguments[0])()]; } log(f(4));`, `[6,4]`},
	{"var of that name", `function f() { var arguments; return (() => arguments[0])(); } log(f(4));`, `4`},
	{"var of that name with a value", `function f() { var arguments = 'v'; return (() => arguments)(); } log(f(4));`, `"v"`},
	{"var of that name that is set later", `function f() { const g = () => arguments; var arguments = 'w'; return g(); } log(f(4));`, `"w"`},
	{"let of that name", `function f() { let arguments = 'l'; return (() => arguments)(); } log(f(4));`, `"l"`},
	{"let of that name in a block", `function f() { const a = () => arguments[0]; { let arguments = 'b'; return [a(), (() => arguments)()]; } } log(f(4));`, `[4,"b"]`},
	{"let of that name after the arrow", `function f() { const g = () => arguments; let arguments = 'm'; return g(); } log(f(4));`, `"m"`},
	{"let of that name in the arrow", `function f() { return (() => { let arguments = 'n'; return arguments; })(); } log(f(4));`, `"n"`},
	{"let of that name in the arrow, too soon", `function f() { return (() => { try { arguments; } catch (e) { return e.name; } let arguments; })(); } log(f(4));`, `"ReferenceError"`},
	{"function of that name", `function f() { return (() => arguments())(); function arguments() { return 'called'; } } log(f(4));`, `"called"`},
	{"catch of that name", `function f() { try { throw 3; } catch (arguments) { return (() => arguments)(); } } log(f(4));`, `3`},
	{"class of another name, with fields", `function f() { const a = () => arguments[0]; return new (class { x = a(); })().x; } log(f(8));`, `8`},
	{"computed key of a class", `function f() { return (() => new (class { [arguments[0]]() { return 1; } })())(); } log(Object.getOwnPropertyNames(Object.getPrototypeOf(f('key'))));`, `["constructor","key"]`},
	{"superclass", `function f() { return (() => class extends arguments[0] {})(); } log(new (f(Array))().length);`, `0`},
	{"field initializer", `try { (0, eval)('class A { x = () => arguments; }'); log('no'); } catch (e) { log(e.name); }`, `"SyntaxError"`},
	{"function in a field initializer", `class A { x = function () { return (() => arguments[0])(); }; } log(new A().x(3));`, `3`},
	{"arrow in a field with a function", `class A { x = () => (function () { return (() => arguments[0])(); })(4); } log(new A().x());`, `4`},
	{"shorthand", `function f() { return (() => ({ arguments }))(); } log(f(1).arguments[0]);`, `1`},
	{"spread", `function f() { return (() => [...arguments])(); } log(f(1, 2));`, `[1,2]`},
	{"called with spread", `function f() { return (() => Math.max(...arguments))(); } log(f(1, 5, 2));`, `5`},
	{"assigned in the arrow", `function f() { (() => { arguments = 7; })(); return arguments; } log(f(1));`, `7`},
	{"assigned by an expression", `function f() { const set = () => arguments = 8; set(); return arguments; } log(f(1));`, `8`},
	{"assigned by the function", `function f() { const g = () => arguments; arguments = 9; return g(); } log(f(1));`, `9`},
	{"counted", `function f() { const g = () => arguments++; arguments = 1; g(); return arguments; } log(f(1));`, `2`},
	{"element assigned", `function f() { (() => arguments[0]++)(); return arguments[0]; } log(f(1));`, `2`},
	{"deleted", `function f() { (() => delete arguments[0])(); return 0 in arguments; } log(f(1));`, `false`},
	{"destructured", `function f() { return (() => { const [a, b] = arguments; return a + b; })(); } log(f(1, 2));`, `3`},
	{"for of", `function f() { return (() => { let s = 0; for (const x of arguments) s += x; return s; })(); } log(f(1, 2));`, `3`},
	{"loops that make arrows", `function f() { const a = []; for (let i = 0; i < arguments.length; i++) a.push(() => arguments[i]); return a.map(g => g()); } log(f(1, 2, 3));`, `[1,2,3]`},
	{"template", "function f() { return (() => `${arguments[0]}-${`${arguments[1]}`}`)(); } log(f(1, 2));", `"1-2"`},
	{"tagged template", "function f() { return ((t = (s, v) => s.join() + v) => t`a${arguments[0]}b`)(); } log(f(1));", `"a,b1"`},
	{"optional chaining", `function f() { return (() => arguments?.[0]?.x)(); } log(f({ x: 1 }));`, `1`},
	{"conditional", `function f(a) { return (() => a ? arguments[1] : arguments[2])(); } log(f(true, 1, 2), f(false, 1, 2));`, `1 2`},
	{"in a block", `function f() { if (true) { const x = 1; { const y = 2; return (() => x + y + arguments[0])(); } } } log(f(3));`, `6`},
	{"in a try", `function f() { try { throw 1; } catch (e) { return (() => e + arguments[0])(); } finally { (() => arguments)(); } } log(f(3));`, `4`},
	{"in a switch", `function f(x) { switch (x) { case 1: let y = 2; return (() => y + arguments[1])(); } } log(f(1, 3));`, `5`},
	{"arrow that ends with a comment", "function f() { return (() => { return arguments[0]; /* end */ // end\n })(); } log(f(3));", `3`},
	{"arrow whose body ends without a return", `function f() { let n = 0; (() => { if (arguments[0]) n++; })(); (() => { for (const x of arguments) n += x; })(); return n; } log(f(3));`, `4`},
	{"arrow that returns nothing", `function f() { return (() => { arguments; })(); } log(f(3) === undefined);`, `true`},
	{"arrow that yields an object", `function f() { return (() => ({ a: arguments[0] }))(); } log(f(3));`, `{"a":3}`},
	{"callbacks", `function f() { return [1, 2].map((x, i) => x * arguments[i]); } log(f(5, 6));`, `[5,12]`},
	{"length and callee", `function f() { return (() => [arguments.length, arguments.callee === f])(); } log(f(1, 2));`, `[2,true]`},
	{"passed on", `function g() { return arguments.length; } function f() { return (() => g.apply(null, arguments))(); } log(f(1, 2));`, `2`},
	{"sliced", `function f() { return (() => Array.prototype.slice.call(arguments, 1))(); } log(f(1, 2, 3));`, `[2,3]`},
	{"at the top", `const top = () => arguments.length; log(top());`, `5`},
	{"beside a direct eval", `function f() { eval('1'); return (() => arguments[0])(); } log(f(3));`, `3`},
	{"beside a direct eval in the arrow", `function f() { return (() => { eval('1'); return arguments[0]; })(); } log(f(3));`, `3`},
	{"many arguments", `function f(a, b, c, d) { let x = 1, y = 2; return (() => [a, b, c, d, x, y, arguments.length])(); } log(f(1, 2, 3, 4, 5));`, `[1,2,3,4,1,2,5]`},
	{"fewer arguments than parameters", `function f(a, b) { return (() => [arguments.length, b === undefined])(); } log(f(1));`, `[1,true]`},
	{"source text", `function f() { return () => arguments[0]; } log(f.toString(), f().toString());`, `"function f() { return () => arguments[0]; }" "() => arguments[0]"`},
	{"name and length", `function f() { const g = (a, b) => arguments; return [g.name, g.length]; } log(f());`, `["g",2]`},
	{"label of that name", `function f() { return (() => { arguments: for (;;) { break arguments; } return arguments[0]; })(); } log(f(2));`, `2`},
	{"this", `function f() { return (() => (() => this.x)())(); } log(f.call({ x: 1 }));`, `1`},
	{"this beside arguments", `function f() { return (() => (() => [this.x, arguments[0]])())(); } log(f.call({ x: 1 }, 2));`, `[1,2]`},
	{"this in a default parameter", `function f(a = () => this.x, b = () => () => this.x) { return [a(), b()()]; } log(f.call({ x: 1 }));`, `[1,1]`},
	{"this in a default parameter of an arrow", `function f() { return ((a = this.x, b = () => this.x) => [a, b()])(); } log(f.call({ x: 1 }));`, `[1,1]`},
	{"this in an async arrow", `function f() { return (async () => { await null; return (() => this.x)(); })(); } f.call({ x: 1 }).then(log);`, `1`},
	{"this in a method", `log({ x: 1, m() { return [1].map(() => this.x); } }.m());`, `[1]`},
	{"this in a field", `class A { x = 1; f = () => (() => this.x)(); static y = 2; static g = () => this.y; static { this.h = () => this.y; } } log(new A().f(), A.g(), A.h());`, `1 2 2`},
	{"this in a derived constructor", `class A { constructor() { this.x = 1; } } class B extends A { constructor() { const f = () => this.x; super(); this.y = (() => f())(); } } log(new B());`, `{"x":1,"y":1}`},
	{"this before super", `class A {} class B extends A { constructor() { const f = () => this; try { f(); } catch (e) { log(e.name); } super(); log(f() === this); } } new B();`, "\"ReferenceError\"\ntrue"},
	{"this in a generator", `function* f() { yield (() => this.x)(); } log([...f.call({ x: 1 })]);`, `[1]`},
	{"this that is strict", `function f() { 'use strict'; return (() => this)(); } log(f() === undefined, f.call(1));`, `true 1`},
	{"this that is boxed", `function f() { return (() => typeof this)(); } log(f.call(1));`, `"object"`},
	{"this at the top", `log((() => this === exports)());`, `true`},
	{"this beside a direct eval", `function f() { eval('1'); return (() => this.x)(); } log(f.call({ x: 1 }));`, `1`},
	{"new.target", `function F() { return (() => (() => new.target === F)())(); } log(new (function G() { this.a = F(); })().a, F()); function H() { this.t = (() => () => new.target)()() === H; } log(new H().t);`, "false false\ntrue"},
	{"new.target in a default parameter", `function F(a = () => new.target) { this.t = a() === F; } log(new F().t);`, `true`},
	{"new.target in a class", `class A { constructor() { this.t = (() => new.target.name)(); } } class B extends A {} log(new A().t, new B().t);`, `"A" "B"`},
	{"new.target in an async arrow", `function F() { this.p = (async () => { await null; return new.target === F; })(); } new F().p.then(log);`, `true`},
	{"new.target in a field", `class A { x = (() => new.target)(); } log(new A().x === undefined);`, `true`},
	{"new.target beside arguments", `function F() { this.t = (() => [new.target === F, arguments[0]])(); } log(new F(1).t);`, `[true,1]`},
	{"super property", `class A { m() { return 'A' + this.x; } } class B extends A { x = 1; m() { return (() => (() => super.m())())(); } } log(new B().m());`, `"A1"`},
	{"super property in a default parameter", `class A { m() { return 'A'; } } class B extends A { m(a = () => super.m(), b = super.m()) { return a() + b; } } log(new B().m());`, `"AA"`},
	{"super property in an async arrow", `class A { m() { return 'A'; } } class B extends A { m() { return (async () => { await null; return super.m(); })(); } } new B().m().then(log);`, `"A"`},
	{"super property in an object", `const o = { __proto__: { m() { return 'P'; } }, m() { return (() => () => super.m())()(); } }; log(o.m());`, `"P"`},
	{"super property in a static method", `class A { static m() { return 'A'; } } class B extends A { static m() { return (() => super.m())(); } } log(B.m());`, `"A"`},
	{"super property in a field", `class A { m() { return 'A'; } } class B extends A { f = () => super.m(); } log(new B().f());`, `"A"`},
	{"super property in a constructor", `class A { m() { return 'A'; } } class B extends A { constructor() { super(); this.v = (() => super.m())(); } } log(new B().v);`, `"A"`},
	{"super property beside arguments", `class A { m() { return [...arguments]; } } class B extends A { m() { return (() => super.m(...arguments))(); } } log(new B().m(1, 2));`, `[1,2]`},
	{"super property that is set", `class A {} class B extends A { m() { (() => { super.x = 3; })(); return this.x; } } log(new B().m());`, `3`},
	{"super property in a getter", `class A { get g() { return 1; } } class B extends A { get g() { return (() => super.g + 1)(); } } log(new B().g);`, `2`},
	{"super call in nested arrows", `class A { constructor(x) { this.x = x; } } class B extends A { constructor(x) { (() => (() => super(x))())(); this.y = 2; } } log(new B(1));`, `{"x":1,"y":2}`},
	{"super call in a default parameter", `class A { constructor() { this.x = 1; } } class B extends A { constructor(a = (() => super())()) { log(a === this); } } log(new B());`, "true\n{\"x\":1}"},
}

func TestMendedCodeDoesAsInNode(t *testing.T) {
	for _, c := range mended {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			p, err := unit(t, "x.js", c.text).Program("x.js")
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if r := recover(); r != nil { // a panic of the engine itself; let the other snippets run
					t.Error(r)
				}
			}()
			log, _ := outcome(goja.New(), p, runtime.Gosched, 1000)
			log = slices.DeleteFunc(log, func(line string) bool { return line == "returned undefined" })
			if got := strings.Join(log, "\n"); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}
