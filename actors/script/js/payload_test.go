package js

import (
	"fmt"
	"strings"
	"testing"
)

// A payload is a Uint8Array as the engine makes one, and so is its buffer; no two share anything.
func TestAPayloadIsAsTheEngineMakesOne(t *testing.T) {
	g := start(t, calm(), only(`
let log;
const asked = {
  names: (a) => [Object.getOwnPropertyNames(a), Object.keys(a.buffer), Object.isExtensible(a), Object.isExtensible(a.buffer)],
  class: (a) => [a.constructor.name, Object.prototype.toString.call(a), Object.prototype.toString.call(a.buffer), a instanceof Uint8Array, a.buffer instanceof ArrayBuffer],
  prototypes: (a) => [Object.getPrototypeOf(a) === Uint8Array.prototype, Object.getPrototypeOf(a.buffer) === ArrayBuffer.prototype],
  sizes: (a) => [a.length, a.byteLength, a.byteOffset, a.BYTES_PER_ELEMENT, a.buffer.byteLength, a.buffer === a.buffer],
  made: (a) => [a.slice(1), a.subarray(1), a.map((x) => x + 1), a.subarray(1).buffer === a.buffer, a.slice(1).constructor === Uint8Array, Array.from(a), [...a], new Uint8Array(a)],
  written: (a) => { new DataView(a.buffer).setUint8(1, 200); a[0] = 300; a[9] = 1; a.set([7], 2); return [...a, a[9], Buffer.from(a.buffer).toString('hex'), a.buffer.slice(1).byteLength]; },
  properties: (a) => { a.more = 1; a.buffer.more = 2; a[Symbol.for('x')] = 3; return [a.more, a.buffer.more, Object.keys(a), a[Symbol.for('x')], delete a.more, 'more' in a]; },
  frozen: (a) => { try { Object.freeze(a); } catch (e) { return e.name; } },
  stopped: (a) => [Object.isExtensible(Object.preventExtensions(a)), Object.isExtensible(a.buffer)],
  inspected: (a) => [require('util').inspect(a), JSON.stringify(a), String(a), require('util').isDeepStrictEqual(a, new Uint8Array(a))],
};
let before;
exports.ssExports = {
  init(s) { log = s.getLogger(); },
  onMessage(m) {
    if (before !== undefined && (before.buffer === m.payload.buffer || Object.keys(m.payload).length !== 3 || m.payload.buffer.more !== undefined)) log.info('shared');
    before = m.payload;
    const name = Object.keys(asked)[m.opCode];
    const want = JSON.stringify(asked[name](new Uint8Array(new Uint8Array(m.payload).buffer))), got = JSON.stringify(asked[name](m.payload));
    log.info(name, got === want ? 'alike' : got + ' is not ' + want);
  },
};`))
	for op := range int32(10) {
		g.handler.OnMessage(message(op, "abc"))
	}
	if text := g.lines.String(); strings.Count(text, "alike\n") != 10 || strings.Contains(text, "shared") {
		t.Error(text)
	}
}

// What is sent is what the payload's bytes are then, whatever made them.
func TestPayloadsOfAllKindsAreSent(t *testing.T) {
	g := start(t, calm(), only(`
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) {
    const whole = new Uint8Array([120, 97, 98, 99, 121]), odd = new Uint16Array([0x6261]);
    Object.setPrototypeOf(odd, Uint8Array.prototype);
    for (const payload of [m.payload, whole.subarray(1, 4), Buffer.from('buf'), odd, new Uint8Array(0), Object.setPrototypeOf(new Uint8Array([99]), null)]) {
      session.sendReliableMessage(session.newBinaryGameMessage(1, -1, payload), m.sender);
    }
  },
};`))
	g.handler.OnMessage(message(1, "came"))
	const want = `["came" "abc" "buf" "" ""]` // a view of other numbers is refused with a warning, whatever its prototype
	var sent []string
	for _, line := range g.sent {
		sent = append(sent, line[strings.Index(line, `"`):])
	}
	if got := fmt.Sprint(sent); got != want {
		t.Errorf("%s\n%s", got, &g.lines)
	}
}

// A comparison with undefined sees the name of a scope around it, if there is one.
func TestComparisonsWithUndefined(t *testing.T) {
	g := start(t, calm(), only(`
function is(x) { return x === undefined; }
function its(undefined) { return [1 === undefined, 2 === undefined, is(undefined)]; }
exports.ssExports = { init(s) {
  let none;
  s.getLogger().info(is(none), is(null), undefined == null, void 1 !== undefined, typeof undefined, (undefined > 1), undefined + 'x');
  s.getLogger().info(...its(1), (() => { const undefined = 3; return 3 === undefined; })());
} };`))
	g.logged(t, "true false true false undefined false undefinedx")
	g.logged(t, "true false false true")
}
