package js

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// valueSource makes the source of a value from the bytes of a fuzzer. Bytes that are missing are 0.
type valueSource struct {
	bytes []byte
	depth int
}

func (s *valueSource) next() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

func (s *valueSource) text() string {
	var b strings.Builder
	b.WriteByte('"')
	for range s.next() % 9 {
		switch n := s.next(); {
		case n < 16: // half of a pair, or a whole one
			fmt.Fprintf(&b, `\u%04x`, 0xd800+int(s.next())*8)
		case n < 32:
			fmt.Fprintf(&b, `\u%02x%02x`, s.next(), s.next())
		default:
			fmt.Fprintf(&b, `\u00%02x`, n)
		}
	}
	return b.String() + `"`
}

func (s *valueSource) key() string {
	switch s.next() % 8 {
	case 0:
		return strconv.Itoa(int(s.next() % 12))
	case 1:
		return "[" + s.text() + "]"
	case 2:
		return `["__proto__"]`
	case 3:
		return "toJSON"
	}
	return string('a' + rune(s.next()%5))
}

func (s *valueSource) properties() string {
	var b strings.Builder
	for range s.next() % 6 {
		fmt.Fprintf(&b, "%s: %s,", s.key(), s.value())
	}
	return b.String()
}

func (s *valueSource) value() string {
	s.depth++
	defer func() { s.depth-- }()
	kind := s.next() % 32
	if s.depth > 6 {
		kind %= 8
	}
	switch kind {
	case 0, 1:
		return strconv.Itoa(int(int8(s.next())) << (s.next() % 48))
	case 2, 3:
		var bits uint64
		for range 8 {
			bits = bits<<8 | uint64(s.next())
		}
		switch f := math.Float64frombits(bits); {
		case math.IsNaN(f):
			return "NaN"
		case math.IsInf(f, 0):
			return "-Infinity"
		default:
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	case 4, 5:
		return s.text()
	case 6:
		return [...]string{"true", "false", "null", "undefined", "-0", "shared", "outside"}[s.next()%7]
	case 7:
		return strconv.FormatFloat(float64(s.next())/8*math.Pow10(int(s.next()%40)-10), 'g', -1, 64)
	case 8, 9, 10, 11, 12:
		return "{" + s.properties() + "}"
	case 13, 14, 15, 16:
		var b strings.Builder
		for range s.next() % 6 {
			b.WriteString(s.value() + ",")
		}
		return "[" + b.String() + "]"
	case 17:
		return "new (class A { constructor() { Object.assign(this, {" + s.properties() + "}); } m() {} })()"
	case 18:
		return "Object.create({" + s.properties() + "})"
	case 19:
		return "Object.assign(Object.create(null), {" + s.properties() + "})"
	case 20:
		return "Object.freeze(" + s.value() + ")"
	case 21:
		return "{ get " + s.key() + "() { return 1; }, b: 2 }"
	case 22:
		return "(o => { delete o.a; o.c = 1; delete o[1]; o[0] = 2; o.a = 3; return o; })({" + s.properties() + "})"
	case 23:
		return "[1, , " + s.value() + "]"
	case 24:
		return "(o => { o.o = o; return o; })({})"
	case 25:
		return "Object.assign([" + s.value() + "], {" + s.properties() + "})"
	case 26:
		return "(() => { let o = 1; for (let i = 0; i < " + strconv.Itoa(56+int(s.next()%16)) + "; i++) o = i % 2 ? [o] : { o }; return o; })()"
	default:
		return [...]string{"new Date(0)", "new Map()", "new Number(1)", "new String('x')", "Symbol()", "(() => 1)", "new Proxy({ a: 1 }, {})", "JSON.rawJSON('1')",
			"new Uint8Array(2)", "Object.defineProperty({ a: 1 }, 'b', { value: 2 })", "new Error('x')", "new (class extends Array {})(1, 2)",
			"new (class { toJSON() { return 1; } })()", "Object.create(Date.prototype)", "(function () { return arguments; })(1)", "Math"}[s.next()%16]
	}
}

// worlds change the prototypes before the value is written, and back.
var worlds = [...][2]string{
	{"", ""}, {"", ""}, {"", ""},
	{"Object.prototype.toJSON = () => 'o'", "delete Object.prototype.toJSON"},
	{"Array.prototype.toJSON = function () { return this.length; }", "delete Array.prototype.toJSON"},
	{"Object.setPrototypeOf(Array.prototype, { toJSON() { return 'p'; } })", "Object.setPrototypeOf(Array.prototype, Object.prototype)"},
	{"Object.defineProperty(Object.prototype, 'toJSON', { get() { return () => 'g'; }, configurable: true })", "delete Object.prototype.toJSON"},
	{"Array.prototype[1] = 'hole'", "delete Array.prototype[1]"},
}

// JSON.stringify writes plain data as the engine does. A replacer that changes nothing makes it use the engine.
func FuzzPlainJSON(f *testing.F) {
	for _, seed := range []string{"", "\x00\x08\x05aaaa", "\x01\x0d\x05\x00\x01\x02", "\x03\x08\x02zzzz", "\x04\x0d\x02", "\x05\x0d", "\x06\x08", "\x07\x17\x01"} {
		f.Add([]byte(seed))
	}
	for kind := range byte(32) {
		for more := range byte(16) {
			f.Add([]byte{0, 8, 3, 'a', 4, kind, more, 5, 20, more, 9, 'b', 4, 13, 5, kind, more, kind, more, kind, 31 - more, 7, 3, kind})
			f.Add([]byte{kind, 13, 2, kind, more, 2, more, kind})
		}
	}
	g := start(f, calm(), body(""))
	h := g.handler.(*Handler)
	if err := h.vm.Set("outside", "a text from outside, \u20ac"); err != nil {
		f.Fatal(err)
	}
	compare := func(t testing.TB, value string, world [2]string) {
		source := `(() => { const shared = { s: 1 }; let v; try { v = ` + value + `; } catch (e) { return ['', '']; } ` + world[0] + `;
try { return [JSON.stringify(v), JSON.stringify(v, (_, x) => x)]; } catch (e) { try { return [String(e), JSON.stringify(v, (_, x) => x)]; } catch (f) { return [String(e), String(f)]; } } finally { ` + world[1] + ` } })()`
		v, err := h.vm.RunString(source)
		if err != nil {
			t.Fatalf("%v: %s", err, source)
		}
		both := v.(*goja.Object)
		if plain, engine := both.Get("0"), both.Get("1"); !plain.SameAs(engine) {
			t.Errorf("%v\nin the engine: %v\n%s", plain, engine, source)
		}
	}
	for _, value := range []string{
		"{ a: { toJSON() { return 1; } } }", "[Object.assign([], { toJSON: k => k })]", `["\ud83d\ude00", "\ude00\ud83d", "\ud83d", "\ud83d\ud83d\ude00x"]`,
		`{ "\ud83d\ude00": 1, "\ud83d": 2, "\u0000\u001f\u007f\u2028\b\t\n\f\r\"\\/": 3 }`, "{ b: 1, 10: 2, 9: 3, a: 4 }", "outside",
		"[1e21, 1e-7, 123456789012345680000, 0.1, 5e-324, -1.5, 2 ** 53]", "[shared, shared]", "{ a: undefined, b: () => 1, c: Symbol() }", "[undefined, () => 1]",
	} {
		compare(f, value, worlds[0])
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		s := &valueSource{bytes: bytes}
		world := worlds[s.next()%byte(len(worlds))]
		compare(t, s.value(), world)
	})
}

// What games send is plain data, so that JSON.stringify does not need the engine.
func TestWhatGamesSendIsPlain(t *testing.T) {
	h := start(t, calm(), body("")).handler.(*Handler)
	for source, plain := range map[string]bool{
		"{ number: 1, entities: [{ id: 1, x: 1.5, y: -2, on: true, name: 'a', of: null, not: undefined }] }": true,
		"new (class E { constructor() { this.x = 1; } move() {} })()":                                        true,
		"[[], {}, '\u00e4\u20ac\"\\n']":                true,
		"Object.assign(Object.create(null), { 7: 1 })": true,
		"{ at: new Date(0) }":                          false,
	} {
		v, err := h.vm.RunString("(" + source + ")")
		if err != nil {
			t.Fatal(err)
		}
		if text := h.plainJSON(goja.FunctionCall{Arguments: []goja.Value{v}}); (text != nil) != plain {
			t.Errorf("%s is plain: %v", source, text != nil)
		}
	}
}

// The limits of replaced apply to plain data: a text that would become too long is refused early, even if most of it
// is not written.
func TestPlainDataHasTheLimitsOfTexts(t *testing.T) {
	h := start(t, calm(), body("")).handler.(*Handler)
	for _, source := range []string{
		"const t = 'x'.repeat(1 << 20); JSON.stringify([t, t, t, t, t])",
		"let o = []; for (let i = 0; i < 24; i++) o = [o, o]; JSON.stringify(o)",
		"const o = {}; for (let i = 0; i < 1e3; i++) o['k' + i] = undefined; JSON.stringify(new Array(1e4).fill(o))",
	} {
		if _, err := h.vm.RunString("{" + source + "}"); err == nil || !strings.Contains(err.Error(), "Invalid string length") {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// A loop that ends early keeps the value of its last step, which is measured.
func TestTheValueOfTheLastStepIsMeasured(t *testing.T) {
	h := start(t, calm(), body("")).handler.(*Handler)
	before := h.held(1 << 40)
	if _, err := h.vm.RunString("for (const x of ['x'.repeat(1 << 20) + 1]) break; 0"); err != nil {
		t.Fatal(err)
	}
	if more := h.held(1<<40) - before; more < 1<<19 {
		t.Errorf("%d bytes are measured", more)
	}
}

// Loops and destructuring see the same steps of array iterators as before they shared one result.
func TestStepsOfArrayIterators(t *testing.T) {
	h := start(t, calm(), body("")).handler.(*Handler)
	for source, want := range map[string]string{
		"let s = ''; for (const x of [1, 2, 3]) s += x; return s":                                                                                                                             "123",
		"let s = ''; for (const x of [1, , 3]) s += x; return s":                                                                                                                              "1undefined3",
		"let s = ''; for (const x of Object.freeze([1, 2])) s += x; return s":                                                                                                                 "12",
		"let s = ''; const a = [1, 2]; for (const x of a) { if (a.length < 5) a.push(x + 1); s += x; } return s":                                                                              "12233",
		"let s = ''; const a = [1, 2, 3]; for (const x of a) { a.length = 2; s += x; } return s":                                                                                              "12",
		"let s = ''; for (const x of [1, 2]) for (const y of [3, 4]) s += x * y + ' '; return s":                                                                                              "3 4 6 8 ",
		"let s = ''; for (const [i, x] of ['a', 'b'].entries()) s += i + x; return s":                                                                                                         "0a1b",
		"let s = ''; for (const i of ['a', 'b'].keys()) s += i; return s":                                                                                                                     "01",
		"let s = ''; for (const x of new Uint8Array([1, 2])) s += x; return s":                                                                                                                "12",
		"const [a, b = 5, c, ...d] = [1, undefined, 3, 4, 5]; return [a, b, c, d].join()":                                                                                                     "1,5,3,4,5",
		"const i = [1, 2].values(), a = i.next(), b = i.next(); return [a.value, b.value, a === b].join()":                                                                                    "1,2,false",
		"const i = [1, 2].values(); for (const x of i) break; return JSON.stringify(i.next())":                                                                                                `{"value":2,"done":false}`,
		"const i = [1].values(); for (const x of i); const a = [1]; return JSON.stringify(i.next())":                                                                                          `{"done":true}`,
		"const l = []; const i = [1, 2].values(); for (const x of { [Symbol.iterator]: () => ({ next() { const r = i.next(); l.push(r); return r; } }) }); return l.map(r => r.value).join()": "1,2,",
		"function* g() { yield* [1, 2]; } const i = g(), a = i.next(), b = i.next(); return [a.value, b.value, a === b].join()":                                                               "1,2,false",
		"const i = [1, 2].values(); Object.defineProperty(i, 'x', { get: i.next }); const a = i.x, b = i.x; return [a.value, b.value, a === b].join()":                                        "1,2,false",
		"return Math.max(...[1, 2])": "2",
		"let s = ''; for (const x of [1, 2]) { s += [...[x, x]].join() + Array.from([x]) + new Set([x]).size; } return s": "1,1112,221",
		"let s = ''; for (const x of [{ get y() { return 1; } }]) s += x.y; return s":                                     "1",
	} {
		v, err := h.vm.RunString("(() => { " + source + " })()")
		if err != nil || v.String() != want {
			t.Errorf("%s: %v %v, want %s", source, v, err, want)
		}
	}
}
