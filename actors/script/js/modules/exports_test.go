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
