package js

import (
	"fmt"
	"strings"
	"testing"
)

// A payload is a real Uint8Array, even if the script has replaced the class.
func TestAPayloadIsAUint8Array(t *testing.T) {
	g := start(t, calm(), body(`onMessage(m) {
  logger.info(m.payload.length, m.payload[0], Object.prototype.toString.call(m.payload), m.payload.buffer.byteLength);
  globalThis.Uint8Array = class { constructor() { logger.info('called'); } };
}`))
	g.handler.OnMessage(message(1, "ab"))
	g.handler.OnMessage(message(2, "ab"))
	if text := g.lines.String(); strings.Count(text, "2 97 [object Uint8Array] 2\n") != 2 || strings.Contains(text, "called") {
		t.Error(text)
	}
}

// A payload is sent with its bytes at the time of the call, whatever kind of object it is.
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
	const want = `["came" "abc" "buf" "" ""]` // a view of 16-bit numbers is refused with a warning, whatever its prototype
	var sent []string
	for _, line := range g.sent {
		sent = append(sent, line[strings.Index(line, `"`):])
	}
	if got := fmt.Sprint(sent); got != want {
		t.Errorf("%s\n%s", got, &g.lines)
	}
}

// A comparison with undefined uses a variable of that name if there is one.
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
