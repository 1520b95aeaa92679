package js

import "testing"

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
