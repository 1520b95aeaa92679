package compile

import (
	"testing"

	"github.com/dop251/goja"
)

// paceOf returns the function that a module exports. looking tells whether it is compiled with yield points.
func paceOf(b *testing.B, text string, looking bool) goja.Callable {
	r := goja.New()
	var p *goja.Program
	if looking {
		var err error
		if p, err = unit(b, "server.js", text).Program("server.js"); err != nil {
			b.Fatal(err)
		}
	} else {
		p = goja.MustCompile("server.js", "(function () { return function (exports) {"+text+"\n} })", false)
	}
	v, err := r.RunProgram(p)
	if err != nil {
		b.Fatal(err)
	}
	f, _ := goja.AssertFunction(v)
	if v, err = f(goja.Undefined(), r.NewDynamicObject(newLooks(r, nil))); err != nil {
		b.Fatal(err)
	}
	f, _ = goja.AssertFunction(v)
	exports := r.NewObject()
	if _, err := f(exports, exports); err != nil {
		b.Fatal(err)
	}
	f, _ = goja.AssertFunction(exports.Get("run"))
	return f
}

func BenchmarkPace(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"empty", `exports.run = () => { for (let i = 0; i < 1000; i++) { } };`},
		{"sum", `exports.run = () => { let s = 0; for (let i = 0; i < 1000; i++) { s += i * 2; } return s; };`},
		{"things", `const things = []; for (let i = 0; i < 1000; i++) things.push({ x: i, y: 2 * i, dx: 3 + i, dy: 7 - i });
exports.run = () => { for (const thing of things) { thing.x += thing.dx * 0.05; thing.y += thing.dy * 0.05; if (thing.x < 0 || thing.x > 100) { thing.dx = -thing.dx; } if (thing.y < 0 || thing.y > 100) { thing.dy = -thing.dy; } } };`},
		{"sort", `const a = []; for (let i = 0; i < 1000; i++) a.push((i * 7919) % 1000); exports.run = () => { a.slice().sort((x, y) => x - y); };`},
		{"fib", `const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); exports.run = () => fib(12);`},
		{"method", `class P { constructor(x) { this.x = x; } add(o) { return new P(this.x + o.x); } } const one = new P(1); exports.run = () => { let p = new P(0); for (let i = 0; i < 300; i++) p = p.add(one); return p.x; };`},
		{"foreach", `const m = new Map(); for (let i = 0; i < 300; i++) m.set('k' + i, { v: i }); exports.run = () => { let s = 0; m.forEach(o => { s += o.v; }); return s; };`},
	} {
		for _, looking := range []bool{false, true} {
			name := "/plain"
			if looking {
				name = "/looking"
			}
			b.Run(c.name+name, func(b *testing.B) {
				f := paceOf(b, c.text, looking)
				for b.Loop() {
					if _, err := f(goja.Undefined()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
