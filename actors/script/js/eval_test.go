package js

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// evaluating are snippets that log what evaluated source sees, each with the output of Node.js 20.
var evaluating = []struct{ name, text, want string }{
	{"locals", `const a = 1; function f(b) { let c = 3; return eval('[a, b, c]'); } log(f(2));`, `[1,2,3]`},
	{"the module's own", `log(eval('typeof require + typeof module + typeof exports'));`, `"functionobjectobject"`},
	{"in an arrow", `const f = x => eval('x + 1'); log(f(2));`, `3`},
	{"in nested arrows", `const f = x => () => () => eval('x + 1'); log(f(2)()());`, `3`},
	{"this", `function f() { return eval('this.x'); } log(f.call({ x: 5 }));`, `5`},
	{"this in an arrow", `function f() { return (() => eval('this.x'))(); } log(f.call({ x: 5 }));`, `5`},
	{"this in a method", `class A { x = 6; m() { return eval('this.x'); } } log(new A().m());`, `6`},
	{"arguments", `function f() { return eval('arguments.length'); } log(f(1, 2));`, `2`},
	{"arguments in an arrow", `function f() { return (() => eval('arguments[1]'))(); } log(f(1, 2));`, `2`},
	{"text with arguments in a string", `log(eval('"() => arguments"'), eval('/* => arguments */ 5'));`, `"() => arguments" 5`},
	{"var goes into the function", `function f() { eval('var v = 7'); return v; } log(f(), typeof v);`, `7 "undefined"`},
	{"var of a strict function stays", `function f() { 'use strict'; eval('var v = 7'); return typeof v; } log(f());`, `"undefined"`},
	{"var of strict source stays", `function f() { eval('"use strict"; var v = 7'); return typeof v; } log(f());`, `"undefined"`},
	{"let stays", `function f() { eval('let v = 7; const w = 8'); return typeof v + typeof w; } log(f());`, `"undefinedundefined"`},
	{"assigns a local", `function f() { let x = 1; eval('x = 2; x++'); return x; } log(f());`, `3`},
	{"completion values", `log(eval('1; if (true) { 2; }'), eval('({ a: 1 })'), eval('{ a: 1 }'), eval('') === undefined, eval('var q = 1') === undefined);`, `2 {"a":1} 1 true true`},
	{"not a string", `const o = {}; log(eval(o) === o, eval(5), eval(new String('1')) instanceof String, eval() === undefined, eval(null), eval(undefined) === undefined);`, `true 5 true true null true`},
	{"more arguments", `let n = 0; log(eval('n + 1', n = 4), n);`, `5 4`},
	{"source that evaluates first", `let s = ''; function f() { s += 'a'; return '1'; } eval(f(), s += 'b'); log(s);`, `"ab"`},
	{"eval of a function that has one", `function f(x) { return eval('x'); } log(eval('f(4)'));`, `4`},
	{"eval in an argument of an eval", `let x = 1; log(eval(eval("'x' + ' + 1'")));`, `2`},
	{"indirect by comma", `const x = 1; log((0, eval)('typeof x'));`, `"undefined"`},
	{"indirect by name", `const x = 1, e = eval; log(e('typeof x'));`, `"undefined"`},
	{"indirect by the global object", `const x = 1; log(globalThis.eval('typeof x'), global.eval('typeof x'));`, `"undefined" "undefined"`},
	{"indirect by optional chaining", `const x = 1; log(eval?.('typeof x'));`, `"undefined"`},
	{"indirect by call and apply", `const x = 1; log(eval.call(null, 'typeof x'), eval.apply(null, ['typeof x']));`, `"undefined" "undefined"`},
	{"as a callback", `log(['1', '2 + 3'].map(eval));`, `[1,5]`},
	{"in parentheses", `const x = 5; log((eval)('x'));`, `5`},
	{"what it is", `log(typeof eval, eval.name, eval.length, eval === globalThis.eval, eval === eval, 'eval' in globalThis, Object.keys(globalThis).includes('eval'));`, `"function" "eval" 1 true true true false`},
	{"direct after indirect and before", `let x = 1; log((0, eval)('typeof x'), eval('x'), (0, eval)('typeof x'), typeof eval);`, `"undefined" 1 "undefined" "function"`},
	{"a parameter of that name", `function f(eval) { return eval('2', 3); } log(f((a, b) => a + b));`, `"23"`},
	{"a parameter of that name, source kept", `function f(eval) { return eval('[arguments]'); } log(f(a => a));`, `"[arguments]"`},
	{"a function of that name", `function f() { function eval(s) { return 'mine ' + s; } return eval('x'); } log(f());`, `"mine x"`},
	{"a name that does not exist yet", `function f() { try { eval('1'); } catch (e) { return e.name; } let eval; } log(f(), (0, eval)('1'));`, `"ReferenceError" 1`},
	{"a method of that name", `log({ eval(s) { return s; } }.eval('y'));`, `"y"`},
	{"replaced", `const old = eval; globalThis.eval = s => 'new ' + s; log(eval('x'), (0, eval)('x')); globalThis.eval = old; let y = 4; log((0, eval)('typeof y'));`, "\"new x\" \"new x\"\n\"undefined\""},
	{"replaced, and put back", `const old = eval; globalThis.eval = null; try { eval('1'); } catch (e) { log(e.name); } globalThis.eval = old; log(eval('1'));`, "\"TypeError\"\n1"},
	{"deleted", `const old = eval; log(delete globalThis.eval, typeof eval); globalThis.eval = old; log(eval('2'));`, "true \"undefined\"\n2"},
	{"errors", `try { eval('let = ;'); } catch (e) { log(e.name, e instanceof SyntaxError); } try { eval('gone'); } catch (e) { log(e.name, e.message); } try { eval('throw new TypeError("t")'); } catch (e) { log(e.message); }`, "\"SyntaxError\" true\n\"ReferenceError\" \"gone is not defined\"\n\"t\""},
	{"in try, finally", `function f() { let x = 1; try { return eval('x'); } finally { x = eval('x + 1'); log(x); } } log(f());`, "2\n1"},
	{"await around", `async function f(x) { return await eval('Promise.resolve(x)'); } f(3).then(log);`, `3`},
	{"await in its argument", `async function f(x) { return eval(await Promise.resolve('x + 1')); } f(3).then(log);`, `4`},
	{"yield in its argument", `function* f(x) { log(eval(yield 'y')); } const g = f(3); g.next(); g.next('x * 2');`, `6`},
	{"generator", `function* f(x) { yield eval('x'); yield eval('x + 1'); } log([...f(1)]);`, `[1,2]`},
	{"new.target", `function F() { this.t = eval('new.target') === F; } log(new F().t);`, `true`},
	{"super property", `class A { m() { return 'A'; } } class B extends A { m() { return eval('super.m()'); } } log(new B().m());`, `"A"`},
	{"private name", `class A { #x = 3; m() { return eval('this.#x'); } } log(new A().m());`, `3`},
	{"in a default parameter", `function f(a, b = eval('a + 1')) { return b; } log(f(1));`, `2`},
	{"in a strict function", `function f(x) { 'use strict'; return eval('x'); } log(f(3));`, `3`},
	{"in a class field", `class A { y = 2; x = eval('this.y + 1'); } log(new A().x);`, `3`},
	{"in a template", "const x = 3; log(`${eval('x')}${`${eval('x + 1')}`}`);", `"34"`},
	{"in a condition", `const x = 3; log(eval('x') ? 1 : eval('gone'), eval('x') && eval('0') || 7);`, `1 7`},
	{"of an assignment", `let r; const x = 2; r = eval('x'); r += eval('x'); log(r);`, `4`},
	{"of a property", `const x = 2; log(eval('({ a: [x] })').a[0], eval('[x]')[0], eval('Math.abs')(-3));`, `2 2 3`},
	{"typeof of it", `const x = 2; log(typeof eval('x'), -eval('x'), new (eval('Array'))(3).length);`, `"number" -2 3`},
	{"as a statement", `let x = 1; if (x) eval('x = 2'); else eval('x = 3'); for (let i = 0; i < 2; i++) eval('x++'); log(x);`, `4`},
	{"deleted value", `const x = 1; log(delete eval('x'), void eval('x') === undefined);`, `true true`},
	{"JSON by eval", `log(eval('(' + '{"a":[1,{"b":2}]}' + ')'));`, `{"a":[1,{"b":2}]}`},
	{"source with a map", `log(eval('1 + 1\n//# sourceURL=webpack://x/./a.js?\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,e30='));`, `2`},
	{"in the strict mode of an ES module", `import fs from 'fs'; const x = 1; export function f(y) { var z = 3; return eval('var z = 4; x * y * z') + z; } log(f(2));`, `11`},
	{"in an async generator", `async function* f(x) { yield eval('x'); await null; yield eval('x + 1'); } (async () => { const g = f(1); await g.next(); log((await g.next()).value); })();`, `2`},
	{"in a loop with for await", `async function f(x) { for await (const y of [1]) log(eval('x + y')); } f(2);`, `3`},
	{"in a method of an object", `log({ x: 2, m(y) { return eval('this.x + y'); } }.m(3));`, `5`},
	{"in a constructor", `class A { constructor(x) { eval('this.x = x'); } } class B extends A { constructor() { super(2); this.y = (() => eval('this.x'))(); } } log(new B());`, `{"x":2,"y":2}`},
	{"super call in it", `class A { constructor(x) { this.x = x; } } class B extends A { constructor() { eval('super(4)'); } } log(new B());`, `{"x":4}`},
	{"in a static block", `class A { static x = 1; static { this.y = eval('this.x + 1'); } } log(A.y);`, `2`},
	{"in a catch", `try { throw 5; } catch (e) { log(eval('e')); }`, `5`},
	{"a constant", `function f() { const c = 1; try { eval('c = 2'); } catch (e) { return e.name; } } log(f());`, `"TypeError"`},
	{"too soon", `function f() { try { eval('z'); } catch (e) { return e.name; } let z; } log(f());`, `"ReferenceError"`},
	{"destructured, rest", `function f({ a }, [b], ...c) { return eval('[a, b, c]'); } log(f({ a: 1 }, [2], 3, 4));`, `[1,2,[3,4]]`},
	{"many variables", `function f(a, b, c = 3, d = () => c) { let e = 5; { const g = 6; return (() => { let h = 7; return eval('[a, b, c, d(), e, g, h]'); })(); } } log(f(1, 2));`, `[1,2,3,3,5,6,7]`},
	{"functions of text", `log(new Function()(), new Function('return 1')(), new Function('a, b', 'c', 'return a + b + c')(1, 2, 3), new Function('a', 'b // x', 'return a + b')(1, 2), new Function('a = () => arguments[1]', 'b', 'return a() + (() => arguments[1])()')(undefined, 2));`, ` 1 6 3 4`},
	{"classes of functions of text", `class F extends Function { constructor(...a) { super(...a); this.own = 1; } twice(x) { return this(this(x)); } } const f = new F('x', 'return x * 3'); log(f.twice(2), f instanceof F, f.own, Function('return 1')(), new Function('a').prototype.constructor.name);`, `18 true 1 1 "anonymous"`},
	{"generators and async functions of text", `const G = (function* () {}).constructor, A = (async () => {}).constructor; log([...new G('n', 'for (let i = 0; i < n; i++) yield i')(3)], String(G()), Object.getPrototypeOf(A('x', 'return await x')) === A.prototype); A('x', 'return await x + 1')(2).then(log);`, "[0,1,2] \"function* anonymous(\\n) {\\n\\n}\" true\n3"},
	{"async functions of a module", `const A = require('fs').promises.readFile.constructor; try { A('return 1n'); } catch (e) { log(e.name); }`, `"SyntaxError"`},
	{"generators of evaluated text", `const G = (0, eval)('(function* () {})').constructor; try { G('yield 1n'); } catch (e) { log(e.name); }`, `"SyntaxError"`},
	{"functions of a script that has deleted a class", `delete globalThis.Promise; const G = (function* () {}).constructor, A = (async () => {}).constructor; for (const F of [G, A]) try { F('1n'); } catch (e) { log(e.name); }`, "\"SyntaxError\"\n\"SyntaxError\""},
	{"this and declarations of indirect evals", `(0, eval)('var gv = 1; function gf() { return this === globalThis; } let gl = 2;'); log(gv, gf(), typeof gf, (0, eval)('this') === globalThis, (0, eval)('let q = 1; const r = 2; q + r'), (0, eval)('typeof q'), (0, eval)('let q = 5; { q }'), (0, eval)('1;;')); try { (0, eval)('throw 1'); } catch (e) { log(e); } try { (0, eval)('var ='); } catch (e) { log(e instanceof SyntaxError); }`, "1 true \"function\" true 3 \"undefined\" 5 1\n1\ntrue"},
	{"text of functions", `log(String(new Function('a', 'return a')), new Function('a', 'b').length);`, `"function anonymous(a\n) {\nreturn a\n}" 1`},
}

func TestTextIsEvaluatedAsByNode(t *testing.T) {
	for _, c := range evaluating {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			g := start(t, calm(), map[string]string{"x.js": c.text, "server.js": `
globalThis.log = (...said) => console.log(said.map(x => JSON.stringify(x)).join(' '));
exports.ssExports = { init() {}, onMessage() { require('./x'); } };`})
			g.handler.OnMessage(message(1, ""))
			var said []string
			for _, line := range g.lines.list {
				said = append(said, line.Text)
			}
			if got := strings.Join(said, "\n"); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

// A direct eval whose source the host cannot check is refused when the file is loaded, or when it is
// evaluated.
func TestDirectEvalsThatAreRefused(t *testing.T) {
	for _, text := range []string{
		"eval(...['x']);",
		"switch (x) { case 1: let z; (() => { eval('z'); })(); }",
	} {
		_, err := load(t, calm(), only("exports.ssExports = { init() {}, onMessage() { const x = 1; "+text+" } };"))
		if err == nil || !strings.Contains(err.Error(), "does not have a direct eval") || !strings.Contains(err.Error(), `"engine": "node"`) {
			t.Errorf("%s: %v", text, err)
		}
	}
	g := start(t, calm(), only("exports.ssExports = { init() {}, onMessage() { eval('\\u0065val(1)'); } };"))
	g.handler.OnMessage(message(1, ""))
	g.logged(t, "does not have a direct eval in evaluated text")
	g = start(t, calm(), only("exports.ssExports = { init() {}, onMessage() { eval('for (;;);'); } };"))
	g.handler.OnMessage(message(1, ""))
	g.logged(t, "SyntaxError: the embedded engine's direct eval takes no loop", `write (0, eval)(text); to run the script in Node.js, set "troupe": {"engine": "node"}`)
}

// Evaluated source may name a source map, but a file named as the source map is not read.
func TestSourceMapsOfTextAreInIt(t *testing.T) {
	sourceMap := []byte(`{"version":3,"sources":["found.js"],"names":[],"mappings":"AAAA"}`)
	file := filepath.Join(t.TempDir(), "map")
	if err := os.WriteFile(file, sourceMap, 0o600); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"file://" + filepath.ToSlash(file):                                             "at <eval>:1:6",
		"data:application/json;base64," + base64.StdEncoding.EncodeToString(sourceMap): "at found.js:1:",
	} {
		g := start(t, calm(), only("exports.ssExports = { init() {}, onMessage() { eval('null.x\\n//# sourceMappingURL="+url+"'); } };"))
		g.handler.OnMessage(message(1, ""))
		g.logged(t, want)
	}
}
