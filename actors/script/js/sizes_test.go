package js

import "testing"

func TestWhatAFileNamesIsBounded(t *testing.T) {
	for source, want := range map[string]sizes{
		`delete global.Uint8Array`:                     1 << 2,
		`list.sort(compare)`:                           sizeOfLists,
		`'x'.padEnd(9) + new Float64ArrayLike()`:       sizeOfStrings,
		`new BigUint64Array(1); ArrayBuffer.isView(x)`: 1<<11 | 1,
	} {
		if got := sizesOf([]byte(source)); got != want {
			t.Errorf("%s: %b", source, got)
		}
	}
}

// Files that never run cost nothing.
func TestBoundsComeWithTheFileThatNeedsThem(t *testing.T) {
	g := start(t, calm(), map[string]string{
		"server.js": `
const said = f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } };
exports.ssExports = { init() {}, onMessage() { console.log(said(() => require('./other').pad('x', 1e12)), said(() => require('./other').bytes(2 ** 33))); } };`,
		"other.js": `exports.pad = (s, n) => s.padEnd(n); exports.bytes = (n) => new Float64Array(n);`,
		"never.js": `[].sort()`,
	})
	if g.handler.(*Handler).sizes != 0 {
		t.Errorf("%b", g.handler.(*Handler).sizes)
	}
	g.handler.OnMessage(message(1, ""))
	g.logged(t, "RangeError: Invalid string length RangeError: Array buffer allocation failed")
	if want := sizeOfStrings | 1<<9; g.handler.(*Handler).sizes != want {
		t.Errorf("%b", g.handler.(*Handler).sizes)
	}
}

// A file may freeze what another one needs a bound for, or take it away.
func TestWhatIsFrozenOrGoneHasNoBound(t *testing.T) {
	for _, before := range []string{
		`Object.freeze(String.prototype); Object.freeze(Array.prototype); Object.freeze(Function.prototype); Object.freeze(Float64Array.prototype);`,
		`delete String.prototype.padEnd; delete Array.prototype.sort; delete Reflect.apply; delete globalThis.Float64Array; String.prototype.repeat = 5;`,
		`delete globalThis.String; delete globalThis.Array; delete globalThis.Reflect; Object.defineProperty = Object.getOwnPropertyNames = null;`,
	} {
		g := start(t, calm(), map[string]string{
			"server.js": `exports.ssExports = { init() {}, onMessage() { ` + before + ` console.log('it is ' + require('./other')); } };`,
			"other.js":  `module.exports = [typeof ''.padEnd, typeof [].sort, typeof Float64Array].length + ''['padStart'](2, 'x'); (() => ''.repeat)();`,
		})
		g.handler.OnMessage(message(1, ""))
		g.logged(t, "it is 3xx")
	}
}

// What is bounded is otherwise what it was.
func TestWhatIsBoundedIsAsInNode(t *testing.T) {
	g := start(t, calm(), only(`
const said = f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } };
exports.ssExports = { init(s) {
  const log = s.getLogger();
  log.info('ab'.repeat(3), 'x'.repeat('2'), ''.repeat(2 ** 40) === '', 'a'.padEnd(3, 'xyz'), 'abc'.padStart(2), 'a'.padEnd(1e12, ''), 'a'.padStart(NaN),
    String.prototype.repeat.call(12, 2), String.prototype.padStart.call(true, 6), 'x'.repeat.name, 'x'.padEnd.length, said(() => 'x'.repeat(-1)), said(() => 'x'.repeat(Infinity)));
  let times = 0;
  'x'.padEnd({ valueOf() { times++; return 5; } }, { toString() { times++; return 'q'; } });
  log.info('converted', times);
  class Own extends Uint8Array { get first() { return this[0]; } }
  const own = new Own([7, 8]), bytes = new Uint8Array(own.buffer, 1);
  log.info(bytes, own, own.first, own.subarray(1) instanceof Own, own instanceof Uint8Array, bytes.constructor === Uint8Array, Uint8Array.name, Uint8Array.length,
    Uint8Array.prototype === Object.getPrototypeOf(bytes), Uint8Array.from([1]), Uint8Array.of(4), new Uint8Array(), new Uint8Array(new Set([5])), new Float32Array(bytes),
    Buffer.from('x') instanceof Uint8Array, new ArrayBuffer(2).byteLength, Reflect.construct(Uint8Array, [2], Float32Array) instanceof Float32Array, said(() => new Uint8Array(-1)).slice(0, 10));
  log.info('kept', s.newTextGameMessage(1, 2, bytes).payload === bytes);
} };`))
	for _, want := range []string{
		"ababab xx true axy abc a a 1212   true repeat 1 RangeError: Invalid count value RangeError: Invalid count value",
		"converted 2",
		"Uint8Array(1) [ 8 ] Own(2) [Uint8Array] [ 7, 8 ] 7 true true true Uint8Array 3 true Uint8Array(1) [ 1 ] Uint8Array(1) [ 4 ] Uint8Array(0) [] Uint8Array(1) [ 5 ] Float32Array(1) [ 8 ] true 2 true RangeError",
		"kept true",
	} {
		g.logged(t, want)
	}
}
