package compile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/dop251/goja"
	"go.uber.org/goleak"

	"troupe/actors/script/bundle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unit returns a Unit with the given files: name, text, name, text, ...
func unit(t testing.TB, files ...string) *Unit {
	t.Helper()
	b := &bundle.Bundle{Files: make(map[string][]byte)}
	for i := 0; i < len(files); i += 2 {
		b.Files[files[i]] = []byte(files[i+1])
	}
	u, err := Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// run runs the module and its promise jobs, and returns its exports.
func run(p *goja.Program) (*goja.Object, error) { return runPausing(p, nil) }

// runPausing is run with a function that is called at each yield point. pause may be nil.
func runPausing(p *goja.Program, pause func()) (*goja.Object, error) {
	r := goja.New()
	v, err := r.RunProgram(p)
	if err != nil {
		return nil, err
	}
	f, ok := goja.AssertFunction(v)
	if !ok {
		return nil, errors.New("the program is no function")
	}
	if v, err = f(goja.Undefined(), r.NewDynamicObject(newLooks(r, pause))); err != nil {
		return nil, err
	}
	if f, ok = goja.AssertFunction(v); !ok {
		return nil, errors.New("what it returns is no function")
	}
	module := r.NewObject()
	exports := r.NewObject()
	module.Set("exports", exports)
	require := func(goja.FunctionCall) goja.Value { return r.NewObject() }
	if _, err = f(exports, exports, r.ToValue(require), module, r.ToValue("/local/game/x.js"), r.ToValue("/local/game")); err != nil {
		return nil, err
	}
	_, err = r.RunString("0")
	return module.Get("exports").ToObject(r), err
}

// Each snippet sets exports.ok, possibly in a promise job.
func TestNewerSyntaxRuns(t *testing.T) {
	cases := []struct{ name, text string }{
		{"async function", `(async function () { exports.ok = await 1 })()`},
		{"async generator", `async function* f() { yield 1; yield 2 } (async () => { const a = []; const i = f(); a.push((await i.next()).value, (await i.next()).value); exports.ok = a.join() === '1,2' })()`},
		{"async generator method", `const o = { async *f() { yield 1 } }; o.f().next().then(v => { exports.ok = v.value === 1 })`},
		{"for await", `(async () => { let n = 0; for await (const x of [1, Promise.resolve(2)]) n += x; exports.ok = n === 3 })()`},
		{"generator", `function* f() { yield* [1] } exports.ok = [...f()][0] === 1`},
		{"class fields", `class A { x = 1; static y = 2; #z = 3; get z() { return this.#z } } exports.ok = new A().z === 3 && A.y === 2`},
		{"private methods", `class A { #m() { return 1 } static #s() { return 2 } t() { return this.#m() + A.#s() } } exports.ok = new A().t() === 3`},
		{"private in", `class A { #x; static t(o) { return #x in o } } exports.ok = A.t(new A())`},
		{"static block", `class A { static { this.q = true } } exports.ok = A.q`},
		{"optional chaining", `exports.ok = null?.a === undefined && ({ a: null }).a?.b?.(1) === undefined`},
		{"nullish", `let a = null; a ??= 2; a ||= 3; a &&= 4; exports.ok = (null ?? a) === 4`},
		{"numeric separators", `exports.ok = 1_000 === 1000`},
		{"optional catch", `try { throw 1 } catch { exports.ok = true }`},
		{"object spread", `const { a, ...b } = { a: 1, ...{ d: 3 } }; exports.ok = b.d === 3 && a === 1`},
		{"look-behind", `exports.ok = /(?<=a)b/.test('ab') && !/(?<!a)b/.test('ab')`},
		{"named groups", `exports.ok = 'ab'.match(/(?<x>a)/).groups.x === 'a' && 'ab'.replace(/(?<q>b)/, '$<q>$<q>') === 'abb'`},
		{"flags s, y, u", `exports.ok = /a.b/s.test('a\nb') && /a/y.test('a') && /^.$/u.test('\u{1F600}')`},
		{"duplicate group names", `exports.ok = /(?<y>a)|(?<y>b)/.test('b')`},
		{"new.target", `function F() { exports.ok = new.target === F } new F()`},
		{"label, octal", `a: for (;;) { exports.ok = 010 === 8; break a }`},
		{"import()", `exports.ok = import('x') instanceof Promise`},
		{"import and export", `import x from 'x'; import * as y from 'x'; export default 1; export const ok = typeof y === 'object'`},
		{"import attributes", `import x from './x.json' with { type: 'json' }; export const ok = true`},
		{"import.meta", `export const ok = import.meta.url === 'file:///local/game/x.js' && import.meta.dirname === '/local/game'`},
		{"strict ES module", `export const ok = (function () { return this === undefined })()`},
		{"using", `const log = []; Symbol.dispose ??= Symbol('d'); { using x = { [Symbol.dispose]() { log.push(1) } } } exports.ok = log.length === 1`},
		{"decorators", `const d = (v, c) => { exports.ok = c.kind === 'class' }; @d class A {}`},
		{"accessor", `class A { accessor x = 1 } exports.ok = new A().x === 1`},
		{"HTML comment", "<!-- old\nexports.ok = true\n--> older"},
		{"hash-bang", "#!/usr/bin/env node\nexports.ok = true"},
		{"byte order mark", "\ufeffexports.ok = true"},
		{"mark and hash-bang", "\ufeff#!/usr/bin/env node\nexports.ok = true"},
		{"return at the top", "exports.ok = true; return; exports.ok = false"},
		{"top-level functions are hoisted", "exports.ok = f(); function f() { return true }"},
		{"arguments", "exports.ok = arguments.length === 5 && arguments[0] === exports && this === exports"},
		{"var named like a parameter", "var module = module; exports.ok = module.exports === exports"},
		{"strict mode", "'use strict'; exports.ok = (function () { return this === undefined })()"},
		{"sloppy mode", "exports.ok = (function () { return this === globalThis })(); undeclared = 1"},
		{"not UTF-8", "exports.ok = '\xff'.length === 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := unit(t, "x.js", c.text).Program("x.js")
			if err != nil {
				t.Fatal(err)
			}
			exports, err := run(p)
			if err != nil {
				t.Fatal(err)
			}
			if ok := exports.Get("ok"); ok == nil || !ok.ToBoolean() {
				t.Fatalf("ok is %v", ok)
			}
		})
	}
}

func TestTypeScript(t *testing.T) {
	u := unit(t, "a.ts", "enum E { A = 5 }\ninterface I { x: number }\nexport const ok: boolean = (E.A as number) === 5;\nfunction dec(t: any) { t.d = true }\n@dec class C { constructor(private y = 1) {} }\nexport const d = (C as any).d\n")
	p, err := u.Program("a.ts")
	if err != nil {
		t.Fatal(err)
	}
	exports, err := run(p)
	if err != nil || !exports.Get("ok").ToBoolean() || !exports.Get("d").ToBoolean() {
		t.Fatal(exports.Keys(), err)
	}
}

// For code that esbuild cannot lower, the error contains a position and advice.
func TestWhatCannotRunSaysSo(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"top-level await", "import 'x'\nawait 1", "x.js:2:1: SyntaxError: Top-level await is not supported yet; to run the script in Node.js"},
		{"flag d", "let a = 1\nlet b = /a/d", "x.js:2:9: "},
		{"flag v", "/[a--b]/v", "x.js:1:1: "},
		{"modifiers", "let a = /(?i:a)b/", "x.js:1:9: "},
		{"properties of characters", `let a = /\p{L}/u`, "x.js:1:9: "},
		{"eval in a switch", "switch (1) { case 1: let z = 6; [1].map(() => eval('7')); }", "x.js:1:"},
	}
	for _, c := range cases {
		_, err := unit(t, "x.js", c.text).Program("x.js")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"engine": "node"`) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSyntaxErrorsSayWhere(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"x.js", "let a = ;", "x.js:1:9: SyntaxError: Unexpected \";\"\n    let a = ;\n            ^"},
		{"sub/x.js", "\n\n  let ä = )\n", "sub/x.js:3:11: SyntaxError: Unexpected \")\"\n      let ä = )\n              ^"},
		{"x.ts", "let a: = 1", "x.ts:1:8: SyntaxError: Unexpected \"=\"\n    let a: = 1\n           ^"},
		{"x.js", "let a = 1; let a = 2", "x.js:1:16: SyntaxError: The symbol \"a\" has already been declared\n    let a = 1; let a = 2\n                   ^"},
		{"x.js", "function f() {", "x.js:1:15: SyntaxError: Unexpected end of file\n    function f() {\n                  ^"},
		{"x.js", "return 1; let a = ;", "x.js:1:19: SyntaxError: Unexpected \";\"\n    return 1; let a = ;\n                      ^"},
	}
	for _, c := range cases {
		_, err := unit(t, c.name, c.text).Program(c.name)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
}

// Stack traces show lines and columns of the original source. For lowered source, the column is one less.
func TestPositionsAreThoseOfTheSource(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"x.js", "throw new Error('e')", "/local/game/x.js:1:7"},
		{"x.js", "let a = 1;\n  throw new Error('e')", "/local/game/x.js:2:9"},
		{"sub/x.js", "#!/bin/node\nthrow new Error('e')", "/local/game/sub/x.js:2:7"},
		{"x.ts", "interface I {\n  a: number\n}\n\nlet b: number = 1;\n  throw new Error('e')", "/local/game/x.ts:6:8"},
		{"sub/x.mjs", "import y from 'y'\n\n// comment\nexport function f() {}\n  throw new Error('e')", "/local/game/sub/x.mjs:5:8"},
		{"x.js", "async function* f() {}\n\n\nthrow new Error('e')", "/local/game/x.js:4:6"},
		{"x.js", "throw new Error('e')\n//# sourceMappingURL=data:application/json;base64,e30=", "/local/game/x.js:1:7"},
	}
	for _, c := range cases {
		p, err := unit(t, c.name, c.text).Program(c.name)
		if err != nil {
			t.Error(err)
			continue
		}
		_, err = run(p)
		var thrown *goja.Exception
		if !errors.As(err, &thrown) || !strings.Contains(thrown.String(), c.want) {
			t.Errorf("%q: %v\nwant %s", c.text, thrown, c.want)
		}
	}
}

func TestJSONFiles(t *testing.T) {
	p, err := unit(t, "x.json", "\ufeff{\"a\": [1, \"\\u2028\\n\u2029 \\\"\"]}").Program("x.json")
	if err != nil {
		t.Fatal(err)
	}
	exports, err := run(p)
	if err != nil || fmt.Sprint(exports.Get("a").Export()) != "[1 \u2028\n\u2029 \"]" {
		t.Fatal(exports, err)
	}
	for text, want := range map[string]string{"{": "x.json:1:2: ", "": "x.json:1:1: ", "{\n  \"a\": x}": "x.json:2:8: "} {
		if _, err = unit(t, "x.json", text).Program("x.json"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestBounds(t *testing.T) {
	u := unit(t, "big.js", strings.Repeat("a;", SourceMax/2+1), "deep.json", strings.Repeat("[", 1e6), "x.js", "1", "x.txt", "a", "bad.js", "(", "node_modules/p/bad.js", ")")
	for _, name := range []string{"big.js", "deep.json"} {
		if _, err := u.Program(name); err == nil {
			t.Error(name, "was taken")
		}
	}
	for _, name := range []string{"nope.js", "x.txt"} {
		if _, err := u.Program(name); !errors.Is(err, fs.ErrNotExist) {
			t.Error(name, err)
		}
	}
	err := u.Check()
	if err == nil || !strings.Contains(err.Error(), "bad.js:1:2") || !strings.Contains(err.Error(), "big.js") || strings.Contains(err.Error(), "node_modules") {
		t.Error(err)
	}
	if _, err := Bundle(&bundle.Bundle{}); err == nil {
		t.Error("a bundle without files was taken")
	}
}

// Many runtimes share a unit.
func TestConcurrentUse(t *testing.T) {
	u := unit(t, "x.js", "exports.ok = /(?<=a)b/.test('ab')", "y.ts", "export let ok: boolean = true; try { null.x } catch (e) { ok = e.stack.includes('y.ts:1:') }")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for _, name := range []string{"x.js", "y.ts"} {
				p, err := u.Program(name)
				if err != nil {
					t.Error(err)
					return
				}
				if exports, err := run(p); err != nil || !exports.Get("ok").ToBoolean() {
					t.Error(name, err)
				}
			}
		})
	}
	wg.Wait()
}

// Source that would overflow a parser's stack or take too long is refused. Other source compiles.
func TestDeepSource(t *testing.T) {
	attacks := []struct{ name, open, mid, shut string }{
		{"paren", "(", "1", ")"}, {"array", "[", "1", "]"}, {"object", "({a:", "1", "})"}, {"block", "{", "1", "}"}, {"not", "!", "1", ""}, {"minus", "- ", "1", ""},
		{"ternary", "a?", "1", ":1"}, {"ternary right", "a?1:", "1", ""}, {"arrow", "x=>", "1", ""}, {"arrow paren", "(x)=>", "1", ""}, {"arrow body", "x=>{", "1", "}"},
		{"arrow default", "(x=", "1", ")=>1"}, {"async arrow default", "async (x=", "1", ")=>1"}, {"new", "new ", "a", ""}, {"new paren", "new (", "a", ")"}, {"template", "`${", "1", "}`"},
		{"else if", "if(a);else ", "1", ""}, {"else if block", "if(a){}else ", "1", ""}, {"if", "if(a)", "1", ""}, {"for", "for(;;)", "1", ""}, {"for of", "for(a of b)", "1", ""}, {"while", "while(a)", "1", ""},
		{"dots", "a.", "b", ""}, {"dots in lines", "a.\n", "b", ""}, {"optional", "a?.", "b", ""}, {"call", "a(", "b", ")"}, {"calls", "", "a", "()"}, {"calls in lines", "", "a", "\n()"}, {"indexes", "", "a", "[0]"}, {"index", "a[", "0", "]"},
		{"plus", "1+", "1", ""}, {"plus in lines", "1\n+", "1", ""}, {"or", "a||", "1", ""}, {"nullish", "a??", "1", ""}, {"power", "a**", "1", ""}, {"assign", "a=", "1", ""}, {"comma", "a,", "1", ""},
		{"function", "function f(){", "1", "}"}, {"function expression", "(function(){", "1", "})"}, {"class", "class a{m(){", "1", "}}"}, {"class extends", "(class extends ", "a", "{})"}, {"extends", "class extends ", "a", "{}"},
		{"class field", "class a{x=class ", "{}", "}"}, {"spread", "[...", "[]", "]"}, {"destructuring", "[", "a", "]=[]"}, {"var", "var [", "a", "]=[]"}, {"typeof", "typeof ", "1", ""}, {"tag", "", "a", "``"},
		{"try", "try{", "1", "}catch(e){}"}, {"catch", "try{}catch(e){", "1", "}"}, {"switch", "switch(a){case 1:", "1", "}"}, {"case", "switch(a){", "1", ":}"}, {"do", "do ", "1", ";while(1)"}, {"do block", "do{", "1", "}while(1)"},
		{"label", "a:", "1", ""}, {"object default", "({a=", "1", "})=>1"}, {"array default", "([a=", "1", "])=>1"}, {"await", "await ", "1", ""}, {"async arrow", "async x=>", "1", ""}, {"in", "a in ", "a", ""}, {"yield", "yield ", "1", ""},
		{"arguments", "f(", "1", ",2)"}, {"statements", "a\n", "1", "b\n"}, {"increments", "++", "a", ""}, {"default in object", "({a:{b=", "1", "}})=>1"}, {"with", "with(a)", "1", ""}, {"decorator", "@a ", "class A{}", ""},
		{"hidden by regexp", "/\"/;(", "1", ");/\"/"}, {"hidden after brace", "{}/\"/;(", "1", ")"}, {"hidden by division", "{}/`/;(", "1", ")"}, {"hidden by comment", "<!-- `\n(", "1", ")"}, {"hidden by separator", "//\u2028(", "1", ")"},
		{"hidden by two divisions", `x={}/a/ /"/+(`, "1", ")"}, {"hidden by a division's comment", "x={}/a/*`*/1+(", "1", ")"},
		{"hidden by if", "if(a)/`/;(", "1", ")"}, {"hidden by method if", "a.if(b)/`/;(", "1", ")"}, {"type", "let a:A<", "1", ">"}, {"JSX", "<a>", "1", "</a>"}, {"import", "import(", "1", ")"}, {"generator", "function*f(){yield ", "1", "}"}, {"get", "({get a(){", "1", "}})"},
	}
	ns := []int{30, 290, 5_900, 1_000_000}
	if testing.Short() || raceDetector { // single-threaded, and slow with the race detector; make test runs the other depths without it
		ns = []int{30, 290}
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) { // a subtest, so that the log contains the name if it hangs
			for _, n := range ns {
				for _, name := range []string{"x.js", "x.ts"} {
					if len(a.open)*n > SourceMax {
						n = SourceMax / len(a.open) / 2
					}
					text := strings.Repeat(a.open, n) + a.mid + strings.Repeat(a.shut, n)
					if len(text) > SourceMax {
						text = strings.Repeat(a.open, n) + a.mid
					}
					_, _ = unit(t, name, text).Program(name)
				}
			}
		})
	}
}

// What looks like a regular expression may also be a chain of operators between two divisions, or a chain of
// divisions.
func TestDeepDivision(t *testing.T) {
	for _, text := range []string{"x={}/" + strings.Repeat("!", SourceMax-20) + "1/1", "x={}" + strings.Repeat("/a", SourceMax/2-10), `x={}/a/ /"/+` + strings.Repeat("(", 1<<20)} {
		if _, err := unit(t, "x.js", text).Program("x.js"); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%.20s: %.80v", text, err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"let a = 1", "export default async function* f() {}", "/a/d", "({a=({b=1})=>1})", "`${`${1}`}`", "a\n++/b/", "#!x\n<!-- y", "class A { static #x = /[/]/ }", "if (a) /`/.x", "import.meta.url", "return", "\ufeff", "a\\u{61}b", "}", "0x1n.5e3"} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(1))
	}
	names := []string{"x.js", "x.ts", "x.mjs", "x.json"}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		if len(text) > 1<<16 {
			return
		}
		name := names[int(kind)%len(names)]
		if _, err := unit(t, name, text).Program(name); err != nil {
			_ = err.Error()
		}
	})
}

// looks counts yield points and records reported values.
type looks struct {
	n        int
	sizes    []string // the reported values
	f        func()
	identity goja.Value // returns the source of a direct eval unchanged
}

func newLooks(r *goja.Runtime, f func()) *looks {
	return &looks{f: f, identity: r.ToValue(func(c goja.FunctionCall) goja.Value { return c.Argument(0) })}
}

func (l *looks) Get(property string) goja.Value {
	if property == EvalSource {
		return l.identity
	}
	l.n++
	if l.f != nil {
		l.f()
	}
	return goja.Undefined()
}
func (l *looks) Set(_ string, v goja.Value) bool {
	l.sizes = append(l.sizes, v.String())
	return true
}
func (*looks) Has(string) bool    { return true }
func (*looks) Delete(string) bool { return false }
func (*looks) Keys() []string     { return nil }
