package modules

import (
	"testing"

	"troupe/actors/script"
)

func TestUtilLooksPlain(t *testing.T) {
	h := enable(t, "main.js", `
		const util = require('util');
		const had = Object.keys(util).length, { format } = util;
		console.log('inspect' in util, 'no' in util, util.no, format('%d', 5), util.hasOwnProperty('types'));
		console.log(JSON.stringify(Object.getOwnPropertyDescriptor(util, 'isArray')));
		util.mine = 1; util.isArray = 2; delete util.inherits; delete util.no;
		console.log(util.mine, util.isArray, util.inherits, 'inherits' in util, Object.keys(util).length - had, Object.keys(util).pop());
		delete util.mine; util.inherits = 3;
		console.log('mine' in util, util.inherits, Object.keys(util).length - had, require('util') === util, require('sys') === util, { ...util }.inspect === util.inspect);`)
	h.levels = script.LevelInfo
	want := "true false undefined 5 true\n" +
		`{"writable":true,"enumerable":true,"configurable":true}` + "\n" +
		"1 2 undefined false 0 mine\nfalse 3 0 true true true"
	if got := h.run(t, "main.js"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCustomInspectOfBuiltIns(t *testing.T) {
	h := enable(t, "main.js", `console.log({ a: [1] }); console.log(Buffer.from('a')); console.log(new URL('http://a/?b=c'), new URLSearchParams('b=c'));`)
	h.levels = script.LevelInfo
	if got, want := h.run(t, "main.js"), "{ a: [ 1 ] }\n<Buffer 61>\nURL { http://a/?b=c } URLSearchParams { b=c }"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAssert(t *testing.T) {
	h := enable(t, "main.js", `
		const assert = require('assert'), { strict } = assert;
		const fails = (f) => { try { f(); console.log('passes'); } catch (e) { console.log(e.name, e.code, e instanceof assert.AssertionError, e.message.split('\n')[0]); } };
		assert(1); assert.ok(true, 'm'); assert.equal(1, '1'); assert.notEqual(1, 2); assert.strictEqual(NaN, NaN); assert.deepEqual({ a: [1, new Map([[1, new Date(0)]])] }, { a: [1, new Map([[1, new Date(0)]])] });
		assert.deepStrictEqual(new Set([1, { b: 2 }]), new Set([1, { b: 2 }])); assert.notDeepStrictEqual([1], ['1']); assert.throws(() => { throw new TypeError('x1'); }, TypeError); assert.throws(() => { throw new TypeError('x1'); }, /x1/);
		assert.throws(() => { throw new TypeError('x1'); }, { message: 'x1', name: /Type/ });
		fails(() => assert(0)); fails(() => assert.ok(null, 'own')); fails(() => strict.equal(1, '1')); fails(() => assert.deepEqual([new Uint8Array([1])], [new Uint8Array([2])])); fails(() => assert.throws(() => {}));
		fails(() => assert.throws(() => { throw new Error('e'); }, TypeError)); fails(() => assert.throws(5)); fails(() => assert.fail('never')); fails(() => assert.strictEqual(1, 2, new RangeError('mine')));`)
	h.levels = script.LevelInfo
	const want = `AssertionError ERR_ASSERTION true The expression evaluated to a falsy value
AssertionError ERR_ASSERTION true own
AssertionError ERR_ASSERTION true 1 strictEqual '1'
AssertionError ERR_ASSERTION true [ Uint8Array(1) [ 1 ] ] deepEqual [ Uint8Array(1) [ 2 ] ]
AssertionError ERR_ASSERTION true Missing expected exception
AssertionError ERR_ASSERTION true Error: e
TypeError ERR_INVALID_ARG_TYPE false The "fn" argument must be of type function. Received number
AssertionError ERR_ASSERTION true never
RangeError undefined false mine`
	if got := h.run(t, "main.js"); got != want {
		compare(t, got, want)
	}
}
