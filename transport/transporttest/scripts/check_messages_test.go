package scripts

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/transporttest/stock"
)

// answering returns a script that answers each message. The answer is the value of a JavaScript expression,
// which may use message, session and sender.
func answering(expression string) string {
	return `
		const util = require('util');
		let session;
		exports.ssExports = {
			init: (s) => { session = s; },
			onMessage: (message) => {
				const sender = message.sender, payload = message.payload;
				session.sendReliableMessage(` + expression + `, sender);
			},
		};`
}

// RT-64.
func TestNewBufferFrom(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, answering(`session.newTextGameMessage(2, -1, [
			JSON.parse(new Buffer.from(payload)).a[1],
			JSON.parse(Buffer.from(payload)).b,
			new Buffer.from(payload).toString() === Buffer.from(payload).toString('utf8'),
			new Buffer.from('abc') instanceof Buffer,
			new Buffer.from(payload).length,
			Buffer.isBuffer(payload), payload instanceof Uint8Array,
		].join(' '))`)), setup{})
		ann := w.join(w.newGame(2), "ann")
		w.say(ann, 1, `{"a":[1,2],"b":"ü"}`)
		w.heard(ann, 2, "2 ü true true 20 false true")
		w.noErrors()
	})
}

// allBytes returns the bytes 0x00 to 0xff.
func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// RT-65.
func TestBytesThroughText(t *testing.T) {
	for name, expression := range map[string]string{
		"Uint8Array": "payload", "Buffer": "Buffer.from(payload)", "ArrayBuffer": "payload.slice().buffer",
		"part of a buffer": "new Uint8Array([9, ...payload, 9]).subarray(1, 257)", "DataView": "new DataView(payload.slice().buffer)", "array": "Array.from(payload, (b) => b - 256)",
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				w := start(t, e, one(t, answering(`(message.opCode === 1 ? session.newTextGameMessage(2, -1, `+expression+`) : session.newBinaryGameMessage(3, -1, `+expression+`))`)), setup{})
				ann := w.join(w.newGame(2), "ann")
				for op := range int32(2) {
					w.send(ann, stock.Message{OpCode: op + 1, TargetPlayer: stock.ServerID, Payload: allBytes(), Reliable: true})
					if got := w.hear(ann, op+2).Payload; !bytes.Equal(got, allBytes()) {
						t.Errorf("op code %d: %x", op+2, got)
					}
				}
				w.noErrors()
			})
		})
	}
}

// RT-66.
func TestTextIsUTF8(t *testing.T) {
	const text = "Grüße, 世界 \U0001F438 \x00 end"
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, answering(`session.newTextGameMessage(message.getPayloadAsText().length, -1, message.getPayloadAsText() + '|ä€\u{1F438}')`)), setup{})
		ann := w.join(w.newGame(2), "ann")
		w.say(ann, 1, text)
		w.heard(ann, 18, text+"|ä€\U0001F438")
		w.noErrors()
	})
}

// RT-67.
func TestPlayersAreAMap(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, answering(`session.newTextGameMessage(2, -1, JSON.stringify([
			session.getPlayers() instanceof Map, session.getPlayers() !== session.getPlayers(),
			Array.from(session.getPlayers().keys()), Array.from(session.getPlayers(), ([id, p]) => id === p.peerId),
			session.getPlayers().has(sender), session.getPlayers().has(String(sender)), session.getPlayers().size,
		]))`)), setup{})
		game := w.newGame(4)
		seat := w.seat(game, "ann")
		ann := w.login(seat, stock.Options{NoUDP: true})
		bob := w.join(game, "bob")
		w.join(game, "eve")
		w.say(bob, 1, "")
		w.heard(bob, 2, "[true,true,[1,2,3],[true,true,true],true,false,3]")
		ann.Close()
		w.until("ann is out", func() error {
			w.say(bob, 1, "")
			if got := string(w.hear(bob, 2).Payload); got != "[true,true,[2,3],[true,true],true,false,2]" {
				return errString(got)
			}
			return nil
		})
		w.login(seat, stock.Options{NoUDP: true}) // logs in again with the same peer id: the order is that of acceptance
		w.say(bob, 1, "")
		w.heard(bob, 2, "[true,true,[2,3,1],[true,true,true],true,false,3]")
		w.noErrors()
	})
}

// RT-68.
func TestFastSendInOnPlayerAccepted(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onPlayerAccepted: (player) => {
					session.sendMessage(session.newTextGameMessage(1, -1, 'one'), player.peerId);
					session.sendGroupMessage(session.newTextGameMessage(2, -1, 'all'), session.getAllPlayersGroupId());
				},
				onMessage: (message) => session.sendMessage(session.newTextGameMessage(3, -1, 'later'), message.sender),
			};`), setup{})
		game := w.newGame(4)
		bob := w.join(game, "bob") // bob never has a fast channel
		for op, want := range map[int32]string{1: "one", 2: "all"} {
			if e := w.hear(bob, op); string(e.Payload) != want || e.Channel != stock.ChannelWebSocket || !e.Reliable {
				t.Errorf("%v: %q", e, e.Payload)
			}
		}
		ann := w.login(w.seat(game, "ann"), stock.Options{})
		w.heard(ann, 1, "one") // on either channel: the engine may be slow
		w.heard(ann, 2, "all")
		w.heard(bob, 2, "all")
		if err := ann.AwaitFast(w.context()); err != nil {
			t.Fatal(err)
		}
		w.until("the fast channel is used", func() error {
			w.say(ann, 9, "")
			if e := w.hear(ann, 3); e.Channel != stock.ChannelUDP {
				return fmt.Errorf("it came by %v", e.Channel)
			}
			return nil
		})
		w.noErrors()
	})
}

// badCalls are calls with mistakes that scripts make. None of them may throw.
var badCalls = []string{
	"session.sendMessage('text', 1)", "session.sendMessage(undefined, 1)", "session.sendMessage(null, 1)", "session.sendReliableMessage({ opCode: 1 }, 1)",
	"session.sendMessage(m, undefined)", "session.sendMessage(m, null)", "session.sendMessage(m, 'nobody')", "session.sendMessage(m, NaN)", "session.sendMessage(m, 1.5)",
	"session.sendMessage(m, {})", "session.sendMessage(m, [])", "session.sendMessage(m, 99)", "session.sendMessage(m, -1)", "session.sendMessage(m, 2 ** 40)", "session.sendMessage(m)",
	"session.sendMessage(m, () => 1)", "session.sendMessage(m, Symbol('x'))", "session.sendMessage()",
	"session.sendGroupMessage(m, 'x')", "session.sendGroupMessage(m, 77)", "session.sendReliableGroupMessage(m)", "session.sendReliableGroupMessage('x', -1)",
	"session.broadcastGroupMembershipUpdate()", "session.broadcastGroupMembershipUpdate(1, 'x')", "session.broadcastGroupMembershipUpdate({}, [])",
	"session.newTextGameMessage()", "session.newTextGameMessage(undefined, undefined, undefined)", "session.newTextGameMessage('x', {}, Symbol('y'))",
	"session.newTextGameMessage(1.5, -2, 3e9)", "session.newBinaryGameMessage(1, 2, { length: 3 })", "session.newBinaryGameMessage(1, 2, [1, 'x', {}, 300])",
	"session.newTextGameMessage(1, 2, { toString() { throw new Error('no'); } })", "session.sendMessage(m, { get peerId() { throw new Error('no'); } })",
	"session.kickPlayer()", "session.kickPlayer('x')", "session.kickPlayer(99, {})", "session.getLogger().info()", "session.getLogger().info(Symbol('x'), null, undefined, NaN)",
	"{ m.payload = { __proto__: Uint8Array.prototype }; session.sendMessage(m, 1); m.getPayloadAsText(); }", "{ m.payload = { __proto__: Uint8Array.prototype, length: 5 }; session.sendMessage(m, 1); }",
	"{ m.payload = new Proxy(new Uint8Array(1), {}); session.sendMessage(m, 1); }", "session.sendMessage(new Proxy(m, { getPrototypeOf() { throw new Error('no'); } }), 1)",
	"session.sendMessage(Object.create(Object.getPrototypeOf(m), { payload: { get() { throw new Error('no'); } } }), 1)",
	"session.getLogger().info({ get a() { throw new Error('no'); } })", "session.getPlayers(1, 2).get('x')",
}

// RT-69.
func TestBadArgumentsRaiseNothing(t *testing.T) {
	calls := ""
	for _, c := range badCalls {
		calls += "() => " + c + ",\n"
	}
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onMessage: (message) => {
					const m = session.newTextGameMessage(1, -1, 'm');
					const thrown = [`+calls+`].map((f) => { try { f(); } catch (error) { return f + ' threw ' + error; } }).filter((text) => text);
					session.sendReliableMessage(session.newTextGameMessage(2, -1, thrown.join('; ')), message.sender);
					const player = session.getPlayers().get(message.sender);
					session.sendReliableMessage(session.newTextGameMessage(undefined, -1, 'op'), player);
					session.sendReliableMessage(session.newTextGameMessage('7', '8', 9), String(message.sender));
					const free = session.newTextGameMessage(10, -1, 'changed');
					free.opCode = '11'; free.payload = 'by hand'; free.sender = undefined;
					session.sendReliableMessage(free, message.sender);
				},
			};`), setup{})
		ann := w.join(w.newGame(2), "ann")
		w.say(ann, 1, "")
		w.heard(ann, 2, "")
		w.heard(ann, 0, "op")
		if e := w.hear(ann, 7); e.Sender != 8 || string(e.Payload) != "9" {
			t.Errorf("%v: %q", e, e.Payload)
		}
		w.heard(ann, 11, "by hand")
		w.awaitStatus(*w.games()[0].GameSessionId, types.GameSessionStatusActive)
		w.noErrors()
	})
}
