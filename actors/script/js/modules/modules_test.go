package modules

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dop251/goja"
	"go.uber.org/goleak"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js/compile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a runtime with a bundle, and the lines that it has logged.
type host struct {
	*Loader
	runtime *goja.Runtime
	lines   []string
	levels  script.Level // lines at this level are recorded without the level, others with it
	exit    []int
}

// alone returns options whose functions do nothing.
func alone(u *compile.Unit, entry string) Options {
	return Options{
		Unit: u, Entry: entry,
		Pause: func() {}, Worked: func(time.Duration) {}, Size: func(v goja.Value) goja.Value { return v }, Eval: func(goja.FunctionCall) {}, Uses: func(string) {},
	}
}

// noMemo is a Memo without a cache.
func noMemo(_ string, f func() any) any { return f() }

// enable returns a host with the given files: name, text, name, text, ... The first file is the entry.
func enable(t testing.TB, files ...string) *host {
	t.Helper()
	b := &bundle.Bundle{Files: make(map[string][]byte), NodeVersion: "24.x"}
	for i := 0; i < len(files); i += 2 {
		b.Files[files[i]] = []byte(files[i+1])
	}
	u, err := compile.Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{runtime: goja.New()}
	h.runtime.SetMaxCallStackSize(2000)
	o := alone(u, files[0])
	o.Args, o.Metadata = []string{"one", "two"}, []byte(`{"fleetId": "f"}`)
	o.Exit = func(code int) {
		h.exit = append(h.exit, code)
		h.runtime.Interrupt("exit")
	}
	o.Log = func(level script.Level, text string) {
		if h.levels != level {
			text = level.String() + " " + text
		}
		h.lines = append(h.lines, text)
	}
	o.NextTick = func(job func()) { // runs ticks as promise jobs
		later, err := h.runtime.RunString("(job) => { Promise.resolve().then(job); }")
		must(err)
		call, _ := goja.AssertFunction(later)
		_, err = call(goja.Undefined(), h.runtime.ToValue(job))
		must(err)
	}
	o.Uncaught = func(e goja.Value) { h.lines = append(h.lines, "uncaught "+e.String()) }
	h.Loader = Enable(h.runtime, o)
	return h
}

// run loads the entry and returns the logged lines.
func (h *host) run(t testing.TB, entry string) string {
	t.Helper()
	if _, err := h.Require(entry); err != nil {
		t.Errorf("%v", err)
	}
	return strings.Join(h.lines, "\n")
}

// Go code processes many bytes in pieces, with the same result. The script may be suspended after each piece.
func TestWorkOnManyBytesIsInPieces(t *testing.T) {
	for code, want := range map[string]int{
		"crypto.createHash('sha256').update(new Uint8Array(3.5 * M)).digest('hex') === '" + fmt.Sprintf("%x", sha256.Sum256(make([]byte, 7<<19))) + "'": 3,
		"crypto.createHmac('md5', new Uint8Array(2.5 * M)).update('a').digest('hex') === '" + hmacOf(make([]byte, 5<<19), "a") + "'":                    2,
		"crypto.randomBytes(4 * M).subarray(3 * M).some((b) => b !== 0)":                                                                                3,
		"crypto.createHash('md5').update(new Uint8Array(M)).digest().length === 16":                                                                     0,
	} {
		h := enable(t, "main.js", "const M = 1 << 20, crypto = require('crypto'); console.log("+code+");")
		pieces := 0
		h.options.Worked = func(time.Duration) { pieces++ }
		if got := h.run(t, "main.js"); got != "INFO true" || pieces != want {
			t.Errorf("%s: %s, looked %d times, want %d", code, got, pieces, want)
		}
	}
}

func hmacOf(key []byte, text string) string {
	m := hmac.New(md5.New, key)
	m.Write([]byte(text))
	return fmt.Sprintf("%x", m.Sum(nil))
}

// Hostile arguments for built-in modules must not hang or crash the host.
func TestHostileValues(t *testing.T) {
	h := enable(t, "main.js", `
		const util = require('util');
		let deep = {}, list = []; for (let i = 0; i < 1e5; i++) { deep = { deep }; list = [list]; }
		console.log(util.inspect(deep, { depth: Infinity }).includes('Inspection interrupted'), util.inspect(list, { depth: null }).includes('Inspection interrupted'));
		console.log(util.inspect('x'.repeat(1e6)).length < 11000, util.inspect(new Array(4e9)), util.inspect(Array.from({ length: 1e5 })).length < 2000, util.inspect(new Uint8Array(1e6)).length < 1000, util.inspect(new Set(Array.from({ length: 1e5 }, (_, i) => i))).length < 2000);
		const proxy = new Proxy({}, { get() { throw new Error('trap'); }, ownKeys() { throw new Error('trap'); } });
		console.log(util.inspect(proxy), util.format('%s %d', proxy === null, {}));
		const revoked = Proxy.revocable({}, {}); revoked.revoke(); console.log(util.inspect(revoked.proxy));
		for (const f of [() => Buffer.alloc(1e12), () => Buffer.alloc(4e9), () => Buffer.concat([], 1e10), () => Buffer.from({ length: -1 }), () => require('crypto').randomBytes(2e9), () => Buffer.from('a').readUIntBE(0, 7), () => util.promisify(5), () => new URL('http://' + 'a'.repeat(1e5) + ':x'), () => require('path').join(Symbol('x')), () => util.inspect({ [util.inspect.custom]() { throw new Error('custom'); } })]) {
			try { f(); console.log('fine'); } catch (e) { console.log(e.name); }
		}
		let chain; for (let i = 0; i < 1e5; i++) chain = new Proxy(chain || {}, {}); console.log(util.inspect(chain));
		console.log(new URL('http://h/' + '../'.repeat(1e5)).pathname, require('path').normalize('../'.repeat(1e5)).length, new URLSearchParams('&'.repeat(1e5)).size);
		console.log(util.inspect({ constructor: { prototype: null } }), util.inspect(Object.create({ constructor: function () {} })).length > 0, util.inspect(Object.defineProperty(new Error('x'), 'stack', { get() { return 5; } })), util.format('%s'.repeat(10), ...Array(10).fill({ toString: null })).length > 0);`)
	h.levels = script.LevelInfo
	got := h.run(t, "main.js")
	want := `true true
true [ <empty items>, ... 3999999900 more items ] true true true
{} false NaN
<Revoked Proxy>
RangeError
RangeError
RangeError
fine
RangeError
TypeError
TypeError
TypeError
TypeError
Error
{}
/ 300000 0
{ constructor: { prototype: null } } true [5] true`
	if got != want {
		compare(t, got, want)
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"./a", "../..", "/", "node_modules", "@a/b/c", "x/..", "./" + strings.Repeat("../", 9), "", "."} {
		f.Add(s, "lib", `{"main": "./x", "exports": {".": ["./y", {"require": "./z"}]}}`)
	}
	for _, s := range []string{"p", "p/", "p/sub/a", "p/sub/../a", "p/no", "me/lib/index.js", "me", "#cfg", "#", "#/a", "#any/x", "#any/../x", "#fs", "#p", "@a", "%", "p/*"} {
		f.Add(s, "lib", `{"name": "me", "exports": {"./sub/*": {"default": "./*.js"}, "./*": "./*", "./no": null, "./*/x/*": "./*"}, "imports": {"#cfg": ["../a", {"node": {"import": 1, "require": "./a.js"}}], "#any/*": "./lib/*", "#fs": "fs", "#p": "p"}}`)
	}
	f.Add("p", "", `{"exports": [[[{"default": {".": 5}}, "./a.js", "./../a.js", "./node_modules/p/x"]]]}`)
	f.Add("p", "", `{"exports": {".": "./x", "require": "./x"}}`)
	f.Fuzz(func(t *testing.T, request, dir, manifest string) {
		if len(request)+len(dir)+len(manifest) > 1<<12 {
			return
		}
		r := resolver{memo: noMemo, files: map[string][]byte{"a.js": nil, "package.json": []byte(manifest), "node_modules/p/package.json": []byte(manifest), "x": nil, "lib/index.js": nil}}
		dir = path.Clean(strings.TrimLeft(path.Clean("/"+dir), "/"))
		if name, err := r.resolve(request, path.Join(dir, "from.js")); err == nil {
			if _, there := r.files[name]; !there {
				t.Errorf("%q from %q is %q, which is not there", request, dir, name)
			}
		}
	})
}

func FuzzBytes(f *testing.F) {
	for _, s := range []string{"", "a", "\xff\xfe", "\xe2\x82", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "YQ==", "zz0", "\xc0\x80"} {
		f.Add([]byte(s))
	}
	r := goja.New()
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range []string{"utf8", "hex", "base64", "base64url", "latin1", "utf16le"} {
			back := decode(encode(r, b, e), e)
			whole := b
			if e == "utf16le" {
				whole = b[:len(b)&^1]
			}
			if (e != "utf8" || utf8.Valid(b)) && !bytes.Equal(back, whole) {
				t.Errorf("%s: %x became %x", e, b, back)
			}
			decode(r.ToValue(string(b)), e)
		}
		if !utf8.ValidString(Text(b)) {
			t.Errorf("%x is not repaired", b)
		}
	})
}
