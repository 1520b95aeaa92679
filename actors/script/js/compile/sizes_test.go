package compile

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// The code reports values that may be large, and no others. RL-210.
func TestWhatMayBeLargeIsToldOf(t *testing.T) {
	for text, want := range map[string]string{
		"let s = 'x'; s += s; s = s + s;":                                  "xx xxxx",
		"let s = 'x'; s += s, s += s; [s += s, s + 1];":                    "xx xxxx xxxxxxxx xxxxxxxx1",
		"const s = 'x'; `${s}${s}`; `x`; String.raw`${s}`;":                "xx",
		"const s = 'x'; s + s + s + s + s + s;":                            "xx xxxxxx",
		"const s = 'x'; s + (s + (s + s));":                                "xx xxx xxxx",
		"const s = 'x'; `a${s}b${s}c${s}d${s}e${s}f${s}g${s}h${s}i`;":      "axbxcxdxe axbxcxdxexfxgxh axbxcxdxexfxgxhxi",
		"const s = 'x'; eval('s + s');":                                    "xx",
		"const s = 'x'; -(s + s); typeof (s + s);":                         "xx xx",
		"1 + 2; 'a' + 1; 'a' + -'b'; 3 * 'c' + 1;":                         "",
		"let n = 1; n -= 1; n++; n * n; n < n; n & n;":                     "",
		"let n = 1; n + 1; n += 1;":                                        "2 2",
		"class C { static a = 'x' + this.name; } new C();":                 "xC",
		"((a = 'x' + typeof b) => a)(); ({ ['x' + typeof b]: 1 });":        "",
		"const b = 'b'; ((a = 'x' + b) => a)(); ({ ['x' + b]: 1 });":       "xb xb",
		"const a = [1]; [...a]; ({ ...a }); [a]; f(...a); function f() {}": "1 [object Object]",
		"const a = [1, 2], [...b] = a, [c] = a; let d, e; [d, ...e] = a;":  "1,2 1,2",
		"const a = '" + strings.Repeat("y", 2000) + "' + 1;":               strings.Repeat("y", 2000) + "1",
	} {
		r := goja.New()
		l := newLooks(r, nil)
		p, err := unit(t, "x.js", text).Program("x.js")
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.RunProgram(p)
		for range 2 { // calls the function that takes the pause object, then the module function
			if err == nil {
				f, _ := goja.AssertFunction(v)
				v, err = f(r.NewObject(), r.NewDynamicObject(l))
			}
		}
		if err != nil || strings.Join(l.sizes, " ") != want {
			t.Errorf("%s: %v %q, want %q", text, err, l.sizes, want)
		}
	}
}

func TestWithIsRefused(t *testing.T) {
	_, err := unit(t, "x.js", "const a = {};\nif (a) with (a) { b; }").Program("x.js")
	if err == nil || !strings.HasPrefix(err.Error(), "x.js:2:8: SyntaxError: the embedded engine does not have with statements") || !strings.Contains(err.Error(), `"engine": "node"`) {
		t.Error(err)
	}
	if _, err = Evaluated("with ({}) {}"); err == nil || !strings.Contains(err.Error(), "with statements") {
		t.Error(err)
	}
}

func TestDirectEvalsTakeWhatIsSmall(t *testing.T) {
	for _, text := range []string{"require", "({ a: [1, 'x' + 1], b })", "x = y * 2; x++; f(x) ? g`${x}` : delete a.b", "let v = 7", "this.x", "super.m()", "new.target", "a + b", "x(-1) + 1", "", "var ="} {
		if err := CheckDirect(text); err != nil && text != "var =" || err == nil && text == "var =" {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"for (;;);", "while (x);", "do ; while (x)", "for (a in b);", "for (a of b);", "(function () {})", "() => 1", "({ m() {} })", "({ get x() { return 1; } })", "class A {}", "(class {})",
		"a + b + c", "a + b; 1", "1; a + b", "f(a + b)", "a += b", "x(-(a + 1))", "`${a}`", "[...a]", "({ ...a })", "const [...a] = b", "({ ...a } = b)", "eval(a)", "1n", "with (a) b", strings.Repeat("[", 400),
	} {
		if err := CheckDirect(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// Evaluated source is limited in the same way as files, and it declares the same names as it would without
// limits.
func TestTextIsEvaluatedWithLooks(t *testing.T) {
	r := goja.New()
	l := newLooks(r, nil)
	if err := r.Set(PauseName, r.NewDynamicObject(l)); err != nil {
		t.Fatal(err)
	}
	run := func(p *goja.Program, err error) string {
		if err != nil {
			return err.Error()
		}
		v, err := r.RunProgram(p)
		if err != nil {
			return err.Error()
		}
		return v.String()
	}
	for _, c := range []struct{ text, want, sizes string }{
		{"var v = 'x'; let w = v + v; for (const a of [w]) w += a; w", "xxxx", "xx xxxx"},
		{"let w = 7; typeof v + w", "string7", "string7"},
		{"'use strict'; const w = this === globalThis; w", "true", ""},
		{"typeof w", "undefined", ""},
		{"function f() { return typeof x; } let x = 1;", "undefined", ""},
		{"f()", "number", ""},
		{"", "undefined", ""},
		{"var = ;", "source:1:5: SyntaxError: Unexpected token =\n    var = ;\n        ^", ""},
	} {
		l.sizes = nil
		if got := run(Evaluated(c.text)); got != c.want || strings.Join(l.sizes, " ") != c.sizes {
			t.Errorf("%s: %q, %q", c.text, got, l.sizes)
		}
	}
	if got := run(Function("async function*", []string{"a", "b, c", "yield a"})); got != "async function* anonymous(a,b, c\n) {\nyield a\n}" && !strings.Contains(got, "SyntaxError") {
		t.Error(got)
	}
	if got := run(Function("function", nil)); got != "function anonymous(\n) {\n\n}" {
		t.Error(got)
	}
	if l.n < 2 {
		t.Error(l.n, "looks")
	}
}
