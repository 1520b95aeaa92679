package modules

import (
	"testing"

	"github.com/dop251/goja"

	"troupe/actors/script"
)

// Every name that can be required has a source that loads.
func TestEveryModuleLoads(t *testing.T) {
	h := enable(t, "main.js", "")
	for name, source := range builtins {
		if e := h.runtime.Try(func() { h.Builtin(source) }); e != nil {
			t.Errorf("%s: %v", name, e)
		}
	}
	h.install(^uint64(0))
	for _, x := range extras {
		if v, err := h.runtime.RunString(x.of + "." + x.name); err != nil || v.String() == "undefined" {
			t.Errorf("%s of %s: %v %v", x.name, x.of, v, err)
		}
	}
	for name := range lazy {
		if v, err := h.runtime.RunString("typeof " + name); err != nil || v.String() == "undefined" {
			t.Errorf("%s: %v %v", name, v, err)
		}
	}
}

// What the engine's library lacks is there for files that mention it.
func TestAdditions(t *testing.T) {
	h := enable(t, "main.js", `
		console.log(Object.groupBy([1, 2, 3], (x) => x % 2 ? 'odd' : 'even').odd, Map.groupBy([1, 2], (x) => x).get(2), typeof Symbol.asyncIterator, Symbol.dispose.toString());
		const { promise, resolve } = Promise.withResolvers(); promise.then((v) => console.log('resolved', v)); resolve(5);
		Array.fromAsync([1, Promise.resolve(2)]).then((l) => console.log(l)); Promise.try((a) => a, 3).then((v) => console.log('tried', v));
		console.log('a\ud800'.isWellFormed(), 'a\ud800'.toWellFormed() === 'a\ufffd', 'a'.isWellFormed(), Error.stackTraceLimit, new WeakRef(Map).deref() === Map);
		const o = { message: 'm' }; Error.captureStackTrace(o); console.log(o.stack.split('\n')[0]);
		Object.groupBy = 5; console.log(Object.groupBy);`)
	h.levels = script.LevelInfo
	want := "[ 1, 3 ] [ 2 ] symbol Symbol(Symbol.dispose)\nfalse true true 10 true\nError: m\n5\nresolved 5\ntried 3\n[ 1, 2 ]"
	if got := h.run(t, "main.js"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if v, _ := enable(t, "main.js", "").runtime.RunString("Object.groupBy"); !goja.IsUndefined(v) {
		t.Error("it is there unasked")
	}
}
