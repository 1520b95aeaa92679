package js

import (
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
)

// Within the limits, built-ins behave as in Node.js.
func TestWhatIsBoundedIsAsInNode(t *testing.T) {
	g := start(t, calm(), only(`
const said = f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } };
exports.ssExports = { init(s) {
  const log = s.getLogger();
  log.info('ab'.repeat(3), 'x'.repeat('2'), ''.repeat(2 ** 40) === '', 'a'.padEnd(3, 'xyz'), 'abc'.padStart(2), 'a'.padStart(NaN),
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
		"ababab xx true axy abc a 1212   true repeat 1 RangeError: Invalid count value RangeError: Invalid count value",
		"converted 2",
		"Uint8Array(1) [ 8 ] Own(2) [ 7, 8 ] 7 true true true Uint8Array 3 true Uint8Array(1) [ 1 ] Uint8Array(1) [ 4 ] Uint8Array(0) [] Uint8Array(1) [ 5 ] Float32Array(1) [ 8 ] true 2 true RangeError",
		"kept true",
	} {
		g.logged(t, want)
	}
}

// Texts that built-ins create from many texts are limited.
func TestTextsOfManyAreBounded(t *testing.T) {
	g := start(t, script.Limits{Callback: time.Minute, MemoryMax: 8 << 20}, only(`
const said = f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } };
exports.ssExports = { init(s) {
  const log = s.getLogger(), long = 'x'.repeat(1e5), own = new Array(1e3).fill(new String(long)), twice = new Array(1e3).fill(new Array(1e2).fill('x'.repeat(1e3)));
  log.info('objects', said(() => own.join('')));
  log.info('lists', said(() => '' + twice));
  log.info('locale', said(() => new Array(1e3).fill(long).toLocaleString()));
  log.info('JSON', said(() => JSON.stringify(new Array(1e3).fill(long))));
  log.info('JSON by keys', said(() => JSON.stringify({ a: new Array(1e3).fill(long) }, ['a'])));
  log.info('raw', said(() => String.raw({ raw: new Array(1e4).fill(long) })));
  log.info('concat', said(() => ''.concat(1, ...new Array(1e3).fill(long))));
  log.info('number', said(() => String.prototype.padEnd.call(1, 2 ** 30)));
  log.info('proxied', said(() => { const z = []; z.length = 4e9; return [].concat(new Proxy(new Proxy(z, {}), {})); }));
  log.info('spreadable', said(() => [].concat({ length: 4e9, [Symbol.isConcatSpreadable]: true })));
} };`))
	g.logged(t, "objects RangeError: Invalid string length", "lists RangeError: Invalid string length", "locale RangeError: Invalid string length", "JSON RangeError: Invalid string length",
		"JSON by keys RangeError: Invalid string length", "raw RangeError: Invalid string length", "concat RangeError: Invalid string length",
		"number RangeError: Invalid string length", "proxied RangeError: a list of 4000000000 is too long for concat", "spreadable RangeError: a list of 4000000000 is too long for concat")
}

// The engine's stack grows once for elements that are spread into a call, instead of being copied for every
// 1,024.
func TestTheStackGrowsOnceForASpread(t *testing.T) {
	const n = 20_000
	allocated := func() int64 {
		s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	for _, of := range []string{"list", "'x'.repeat(n)", "new Uint8Array(n)", "new Set(list.keys())"} {
		t.Run(of, func(t *testing.T) {
			g := start(t, calm(), body(`onMessage({ opCode: n }) {
				const list = new Array(n).fill(1), all = `+of+`, count = function () { return arguments.length; };
				logger.info('spread', count(...all, ...[1, 2]));
			}`))
			var took [2]int64 // the second call finds the stack large enough
			for i := range took {
				took[i] = -allocated()
				g.handler.OnMessage(message(n, ""))
				took[i] += allocated()
			}
			if more := (took[0] - took[1]) / n; more > 60 || strings.Count(g.lines.String(), "spread 20002") != 2 {
				t.Errorf("%d bytes more for each element\n%s", more, &g.lines)
			}
		})
	}
}

// Texts created by operators are limited, in files of the script and in built-in modules.
func TestSumsAreBounded(t *testing.T) {
	g := start(t, script.Limits{Callback: time.Minute, MemoryMax: 64 << 20}, only(`
const said = f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } };
exports.ssExports = { init(s) {
  const log = s.getLogger();
  log.info('added', said(() => 'x'.repeat(3e6) + 'x'.repeat(3e6)), said(() => 'x'.repeat(2 ** 22 - 1) + 'x').length);
  log.info('formatted', said(() => require('util').format('%s%s', 'x'.repeat(3e6), 'x'.repeat(3e6))));
} };`))
	g.logged(t, "added RangeError: Invalid string length 4194304", "formatted RangeError: Invalid string length")
}

// Guards convert and read their arguments only once, in the order that the language requires.
func TestGuardsAreNotSeen(t *testing.T) {
	g := start(t, calm(), only(`
exports.ssExports = { init(s) {
  const log = s.getLogger(), seen = [];
  log.info('joined', [1, 2, 3].join(0), [1, [2, [null, 3]]].join(null), ''.concat(1, null), 'a1b'.split(1), 'a1b'.replace(1, 2), 'abc'.split('', 2));
  const o = { get length() { seen.push('length'); return 2; }, get 0() { seen.push('0'); return 'a'; }, 1: 'b' };
  log.info('once', Array.prototype.join.call(o, { toString() { seen.push('separator'); return '+'; } }), seen.join());
  let n = 0, keys = [];
  const json = JSON.stringify({ get x() { n++; return { y: 1 }; }, z: { toJSON: k => k + '!' } }, function (k, v) { keys.push(k + typeof this); return v; });
  log.info('JSON', json, n, keys.join());
  const list = [1]; list.push(list); log.info('circle', list.join(), list.toLocaleString());
} };`))
	g.logged(t, "joined 10203 1null2,,3 1null [ 'a', 'b' ] a2b [ 'a', 'b' ]", "once a+b length,separator,0", `JSON {"x":{"y":1},"z":"z!"} 1 object,xobject,yobject,zobject`, "circle 1, 1,")
}
