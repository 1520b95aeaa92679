package scripts

import "testing"

// In sloppy code a function that a block declares is there after the block.
func TestFunctionsInBlocksAreSeenOutside(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
var out = [];
if (out) { function top() { return 'top' + inside() } function inside() { return '+' } }
out.push(top(), top.name);
(function () { out.push(typeof f); { function f() { return 1 } } out.push(f()); })();
out.push((() => { try { function f() { return 'try' } } catch (e) {} return f() })());
(function (x) { if (x) { function f() { return 'yes' } } else { function f() { return 'no' } } out.push(f()); })(0);
(function () { for (var i = 0; i < 2; i++) { function f() { return i } } out.push('loop' + f()); })();
(function () { { let q = 'q'; { function f(n) { return n ? f(n - 1) : q } } } out.push(f(2)); })();
// These stay as they are.
(function () { 'use strict'; { function f() {} } out.push(typeof f); })();
(function (f) { { function f() {} } out.push(f); })('parameter');
(function () { let f = 'let'; { function f() {} } out.push(f); })();
(function () { { let f = 'inner'; { function f() {} } out.push(f); } out.push(typeof f); })();
(function () { var all = []; for (let i = 0; i < 3; i++) { function f() { return i } all.push(() => f()); } out.push(all.map((g) => g()).join('')); })();
(function () { class A { m() { { function f() {} } return typeof f } } out.push(new A().m()); })();
(function () { switch (1) { case 1: out.push(f()); break; case 2: function f() { return 'case' } } })();
(function () { { async function f() {} } out.push(typeof f); })();
out.push(typeof f);
console.log(out.join());
exports.ssExports = { init() {} };`), setup{})
		w.newGame(4)
		w.wrote("INFO script.js:20 top+,top,undefined,1,try,no,loop2,q,undefined,parameter,let,inner,undefined,012,undefined,case,undefined,undefined")
	})
}
