package js

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// These are the checks of realtime.md 21 that need only this engine. The checks that need a host are in
// transport/transporttest/scripts; they run with both engines.

func message(op int32, payload string) *script.Message {
	return &script.Message{OpCode: op, Sender: 3, TargetPlayer: -1, Reliable: true, Payload: []byte(payload)}
}

// body returns a script that defines session, logger and one more key of ssExports.
func body(key string) map[string]string {
	return only("let session, logger;\nexports.ssExports = { init(s) { session = s; logger = s.getLogger(); },\n" + key + " };")
}

func (g *game) logged(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(g.lines.String(), w) {
			t.Errorf("the log lacks %q:\n%s", w, &g.lines)
		}
	}
}

func (g *game) wants(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(g.sent, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("sent:\n%s\nwant:\n%s\n%s", got, strings.Join(want, "\n"), &g.lines)
	}
	g.sent = nil
}

// RT-61.
func TestConfigurationAndItsDefaults(t *testing.T) {
	window := 90 * time.Second
	for source, want := range map[string]script.Configuration{
		``:                   {},
		`configuration: {},`: {},
		`configuration: { pingIntervalTime: 30000, maxPlayers: 4, other: 1 },`:              {PingInterval: 30 * time.Second, MaxPlayers: 4},
		`configuration: { pingIntervalTime: 0, maxPlayers: 0 },`:                            {},
		`configuration: { pingIntervalTime: -1, maxPlayers: 'x', reconnectWindow: 'soon'},`: {},
		`configuration: { pingIntervalTime: NaN, maxPlayers: 1e99 },`:                       {},
		`configuration: { reconnectWindow: 90 },`:                                           {ReconnectWindow: &window},
		`configuration: { reconnectWindow: 601 },`:                                          {},
		`get configuration() { throw new Error('no'); },`:                                   {},
		`configuration: 7,`:    {},
		`configuration: null,`: {},
	} {
		g := start(t, calm(), body(source))
		got := g.handler.Configuration()
		if fmt.Sprint(got.PingInterval, got.MaxPlayers, got.ReconnectWindow != nil) != fmt.Sprint(want.PingInterval, want.MaxPlayers, want.ReconnectWindow != nil) {
			t.Errorf("%s: %+v, want %+v", source, got, want)
		}
		if want.ReconnectWindow != nil && *got.ReconnectWindow != window {
			t.Error(*got.ReconnectWindow)
		}
	}
}

// RT-63.
func TestAByteOrderMarkIsSkipped(t *testing.T) {
	g := start(t, calm(), map[string]string{
		"server.js":    "\ufeff'use strict';\nconst other = require('./lib/other.js');\nexports.ssExports = { init() { other.loaded(); }, onMessage() { throw new Error('here'); } };",
		"lib/other.js": "\ufeffexports.loaded = () => 1;",
	})
	g.handler.OnMessage(message(1, ""))
	g.logged(t, "[ERROR] (server.js) 3: Error in onMessage: Error: here\n    at onMessage (/local/game/server.js:3:")
}

func TestProcessListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, calm(), body(`onMessage(m) {
process.on('uncaughtException', (e, origin) => logger.info('caught', e.message, origin));
process.on('exit', code => logger.info('exit', code));
setTimeout(() => { throw new Error('one'); }, 1);
Promise.reject(new Error('two'));
setTimeout(() => process.exit(4), 5); }`))
		g.handler.OnMessage(message(1, ""))
		g.play(time.Second)
		g.logged(t, "caught one uncaughtException", "caught two unhandledRejection", "exit 4")
		if g.crash != "" || *g.exit != 4 {
			t.Error(g.crash, *g.exit)
		}
	})
}

// RT-66.
func TestTextIsUTF8(t *testing.T) {
	g := start(t, calm(), body(`onMessage(m) { session.sendMessage(session.newTextGameMessage(1, -1, m.getPayloadAsText() + ' 日本語 🎲'), 3); }`))
	for in, want := range map[string]string{"žluť": "žluť", "": "", "a\xff\xe2\x82b\xf0\x9f\x8e": "a\ufffd\ufffdb\ufffd", "\xed\xa0\x80": "\ufffd\ufffd\ufffd"} {
		g.handler.OnMessage(message(1, in))
		g.wants(t, fmt.Sprintf("fast op 1 from -1 to 3: %q", want+" 日本語 🎲"))
	}
}

func TestDecisionsThatNobodyWaitsForAreForgotten(t *testing.T) {
	g := start(t, calm(), body(`onPlayerConnect() { return new Promise(() => {}); }`))
	for range 10 * 256 {
		d := g.handler.OnPlayerConnect(&script.ConnectMessage{Player: script.Player{PeerID: 1}})
		d.Pending().Decide(false) // the host no longer waits for this decision (D-116)
	}
	if n := g.handler.(*Handler).questions.Len(); n > 2*256 {
		t.Errorf("%d are kept", n)
	}
}

func TestAPlayerWhoseDisconnectOverflowsIsGone(t *testing.T) {
	g := start(t, calm(), body(`onMessage() { logger.info('players', session.getPlayers().size); }, onPlayerDisconnect(id) { (function f() { f(); })(); }`))
	g.handler.OnPlayerAccepted(script.Player{PeerID: 1})
	g.handler.OnPlayerAccepted(script.Player{PeerID: 2})
	g.handler.OnPlayerDisconnect(1)
	g.handler.OnMessage(message(1, ""))
	g.logged(t, "Error in onPlayerDisconnect: RangeError", "players 1")
}

// RT-69.
func TestBadArgumentsRaiseNothing(t *testing.T) {
	for source, want := range map[string]string{
		`session.sendMessage('text', 1)`:                                                                                                                                "",
		`session.sendMessage(undefined, 1)`:                                                                                                                             "",
		`session.sendMessage({ opCode: 1, payload: 'x' }, 1)`:                                                                                                           "",
		`session.sendMessage()`:                                                                                                                                         "",
		`session.sendMessage(session.newTextGameMessage(), 1)`:                                                                                                          `fast op 0 from 0 to 1: ""`,
		`session.sendMessage(session.newTextGameMessage(undefined, '7', 'x'), 1)`:                                                                                       `fast op 0 from 7 to 1: "x"`,
		`session.sendMessage(session.newTextGameMessage('12', -1, 5), '3')`:                                                                                             `fast op 12 from -1 to 3: "5"`,
		`session.sendMessage(session.newTextGameMessage(4294967295, -1, true), 1)`:                                                                                      `fast op -1 from -1 to 1: "true"`,
		`session.sendMessage(session.newTextGameMessage(Symbol(), {}, null), 1)`:                                                                                        `fast op 0 from 0 to 1: ""`,
		`session.sendMessage(session.newTextGameMessage(1, -1, x => x), 1)`:                                                                                             `fast op 1 from -1 to 1: "x => x"`,
		`session.sendMessage(session.newTextGameMessage(1, -1, { a: 1 }), 1)`:                                                                                           `fast op 1 from -1 to 1: "[object Object]"`,
		`session.sendMessage(session.newTextGameMessage(1, -1, Object.create(null)), 1)`:                                                                                `fast op 1 from -1 to 1: ""`,
		`session.sendMessage(session.newBinaryGameMessage(1, -1, [1, 257, -1, 'x']), 1)`:                                                                                `fast op 1 from -1 to 1: "\x01\x01\xff\x00"`,
		`session.sendMessage(session.newBinaryGameMessage(1, -1, 'ž'), 1)`:                                                                                              `fast op 1 from -1 to 1: "ž"`,
		`session.sendMessage(session.newBinaryGameMessage(1, -1, new Uint16Array([258])), 1)`:                                                                           `fast op 1 from -1 to 1: "\x02\x01"`,
		`session.sendMessage(session.newBinaryGameMessage(1, -1, new Uint8Array([1, 2, 3]).buffer), 1)`:                                                                 `fast op 1 from -1 to 1: "\x01\x02\x03"`,
		`session.sendMessage(session.newBinaryGameMessage(1, -1, new Uint8Array([1, 2, 3]).subarray(1)), 1)`:                                                            `fast op 1 from -1 to 1: "\x02\x03"`,
		`session.sendReliableMessage(session.newTextGameMessage(1, -1, 'x'), { peerId: 9 })`:                                                                            `reliable op 1 from -1 to 9: "x"`,
		`session.sendReliableMessage(session.newTextGameMessage(1, { peerId: 4 }, 'x'), 1)`:                                                                             `reliable op 1 from 4 to 1: "x"`,
		`session.sendReliableMessage(session.newTextGameMessage(1, -1, 'x'), {})`:                                                                                       "",
		`session.sendReliableMessage(session.newTextGameMessage(1, -1, 'x'), '')`:                                                                                       "",
		`session.sendReliableMessage(session.newTextGameMessage(1, -1, 'x'), 1.5)`:                                                                                      "",
		`session.sendReliableMessage(session.newTextGameMessage(1, -1, 'x'), null)`:                                                                                     "",
		`session.sendReliableMessage(session.newTextGameMessage(1, -1, 'x'), { get peerId() { throw 1; } })`:                                                            "",
		`session.sendReliableGroupMessage(session.newTextGameMessage(1, -1, 'x'), '5')`:                                                                                 `reliable group op 1 from -1 to 5: "x"`,
		`session.sendGroupMessage(session.newTextGameMessage(1, -1, 'x'))`:                                                                                              "",
		`session.sendMessage(Object.create(Object.getPrototypeOf(m), { payload: { get() { throw new Error('mine'); } } }), 1)`:                                          "",
		`const n = session.newTextGameMessage(1, -1, 'x'); n.payload = { __proto__: Uint8Array.prototype }; session.sendMessage(n, 1)`:                                  "",
		`const n = session.newTextGameMessage(1, -1, 'x'); n.payload = new Proxy(new Uint8Array(1), {}); session.sendMessage(n, 1)`:                                     "",
		`const n = session.newTextGameMessage(1, -1, 'x'); n.payload = new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } }); session.sendMessage(n, 1)`: `fast op 1 from -1 to 1: ""`,
		`session.sendMessage(session.newBinaryGameMessage(1, -1, { __proto__: Uint8Array.prototype, length: 5 }), 1)`:                                                   "",
		`session.sendMessage(new Proxy({}, { getPrototypeOf() { throw new Error('mine'); } }), 1)`:                                                                      "",
		`session.sendMessage({ __proto__: Object.getPrototypeOf(m), get payload() { throw { toString() { throw 1; } }; } }, 1)`:                                         "",
		`session.sendMessage(Object.create(Object.getPrototypeOf(m), { opCode: { get() { throw 1; } } }), 1)`:                                                           "",
		`session.sendMessage(Object.create(Object.getPrototypeOf(m), { sender: { get() { throw null; } } }), 1)`:                                                        "",
		`session.newTextGameMessage(1, -1, { toString() { throw { toString() { throw 1; } }; } }); throw_ = 1; logger.warn('')`:                                         "",
		`session.sendMessage(m, { get peerId() { throw { toString() { throw 1; } }; } })`:                                                                               "",
		`session.broadcastGroupMembershipUpdate(1, -1)`:                                                                                                                 "members of 1 to -1",
		`session.broadcastGroupMembershipUpdate('a', 2)`:                                                                                                                "",
		`session.kickPlayer(2, 'cheater')`:                                                                                                                              "kick 2: cheater",
		`session.kickPlayer(2)`:                                                                                                                                         "kick 2: ",
		`session.startMatchBackfill(); session.stopMatchBackfill()`:                                                                                                     "start backfill\nstop backfill",
		`session.kickPlayer('x', {})`:                                                                                                                                   "",
		`const { sendMessage, newTextGameMessage } = session; sendMessage(newTextGameMessage(1, 2, '3'), 4)`:                                                            `fast op 1 from 2 to 4: "3"`,
		`session.sendMessage(m, 1); session.sendMessage(m, 1)`:                                                                                                          "fast op 1 from 3 to 1: \"in\"\nfast op 1 from 3 to 1: \"in\"",
		`m.opcode = 8; m.payload = 'changed'; session.sendMessage(m, 1)`:                                                                                                `fast op 8 from 3 to 1: "changed"`,
	} {
		g := start(t, calm(), body(`onMessage(m) { `+source+` }`))
		g.handler.OnMessage(message(1, "in"))
		if got := strings.Join(g.sent, "\n"); got != want {
			t.Errorf("%s\nsent %q, want %q", source, got, want)
		}
		log := g.lines.String()
		if strings.Contains(log, "[ERROR]") || want == "" && !strings.Contains(log, "[WARN]") {
			t.Errorf("%s\nlog: %q", source, log)
		}
	}
}

// RT-78.
func TestAnUnhandledRejectionByVersion(t *testing.T) {
	for source, fatal := range map[string]bool{
		`Promise.reject(new Error('lost'));`:                                                            true,
		`(async () => { throw new Error('lost'); })();`:                                                 true,
		`setTimeout(async () => { throw new Error('lost'); }, 1);`:                                      true,
		`const p = Promise.reject(new Error('lost')); p.catch(() => {});`:                               false,
		`const p = Promise.reject(new Error('lost')); process.nextTick(() => p.catch(() => {}));`:       false,
		`const p = Promise.reject(new Error('lost')); Promise.resolve().then(() => p.catch(() => {}));`: false,
		`const p = Promise.reject(new Error('lost')); setTimeout(() => p.catch(() => {}), 1);`:          true,
		// The promise of a callback: the rejection is only logged
		`return Promise.reject(new Error('lost'));`: false,
	} {
		for _, version := range []string{"10.x", "24.x"} {
			synctest.Test(t, func(t *testing.T) {
				g := &game{node: version}
				g, err := loadInto(t, g, calm(), body(`onMessage(m) { `+source+` }`))
				if err != nil {
					t.Fatal(err)
				}
				g.handler.OnMessage(message(1, ""))
				g.play(50 * time.Millisecond)
				crashed, log := g.crash != "", g.lines.String()
				if crashed != (fatal && version == "24.x") {
					t.Errorf("%s of %s: crash %q\n%s", source, version, g.crash, log)
				}
				if fatal && !strings.Contains(log, "Unhandled promise rejection: Error: lost") {
					t.Errorf("%s of %s: %s", source, version, log)
				}
				if want := int64(map[bool]int{true: 1}[fatal]); g.counters.ScriptErrors.Load() != want {
					t.Errorf("%s: %d errors counted", source, g.counters.ScriptErrors.Load())
				}
			})
		}
	}
}

// realtime.md 15.2 and D-116.
func TestGatesAreJudgedByTruthinessAndPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		yes, no, later := "yes", "no", "later"
		for _, c := range []struct{ result, gate, awaited, told string }{
			{`true`, yes, yes, yes}, {`1`, yes, yes, yes}, {`'a'`, yes, yes, yes}, {`{}`, yes, yes, yes},
			{`false`, no, no, yes}, {`0`, no, no, yes}, {`''`, no, no, yes}, {`null`, no, no, yes}, {`undefined`, no, no, yes}, {`NaN`, no, no, yes},
			{`(() => { throw new Error('x'); })()`, no, no, no},
			{`Promise.resolve(true)`, yes, yes, yes}, {`Promise.resolve(0)`, yes, no, yes}, {`Promise.reject(1)`, yes, no, yes},
			{`new Promise(() => {})`, yes, later, yes}, {`{ then: f => f(true) }`, yes, yes, yes}, {`Object.assign(() => {}, { then: f => f(false) })`, yes, no, yes},
			{`new Promise(f => setTimeout(f, 1, 1))`, yes, later, yes},
		} {
			g := start(t, calm(), body(strings.ReplaceAll(`
onProcessStarted() { return R; }, onHealthCheck() { return R; }, onPlayerConnect() { return R; },
onSendToPlayer() { return R; }, onSendToGroup() { return R; }, onPlayerJoinGroup() { return R; }, onPlayerLeaveGroup() { return R; },
onStartGameSession() { return R; }, onProcessTerminate() { return R; }`, "R", c.result)))
			h := g.handler
			over := c.told // for this callback, only the end of the promise matters
			if c.awaited == later {
				over = later
			}
			for name, d := range map[string]script.Decision{
				c.awaited + " onProcessStarted": h.OnProcessStarted([]string{"a"}), c.awaited + " onHealthCheck": h.OnHealthCheck(),
				c.awaited + " onPlayerConnect": h.OnPlayerConnect(&script.ConnectMessage{}),
				c.gate + " onSendToPlayer":     h.OnSendToPlayer(message(1, "")), c.gate + " onSendToGroup": h.OnSendToGroup(message(1, "")),
				c.gate + " onPlayerJoinGroup": h.OnPlayerJoinGroup(1, 2), c.gate + " onPlayerLeaveGroup": h.OnPlayerLeaveGroup(1, 2),
				c.told + " onStartGameSession": h.OnStartGameSession(&messages.GameSession{}), over + " onProcessTerminate": h.OnProcessTerminate(),
			} {
				got := later
				if ok, now := d.Now(); now {
					got = map[bool]string{true: yes, false: no}[ok]
				}
				if want, _, _ := strings.Cut(name, " "); got != want {
					t.Errorf("%s: %s: %s\n%s", c.result, name, got, &g.lines)
				}
			}
			g.play(20 * time.Millisecond)
			if g.crash != "" {
				t.Errorf("%s: %s", c.result, g.crash)
			}
		}
	})
}

func TestAPromiseThatComesLaterDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, calm(), body(`onPlayerConnect: m => new Promise(f => setTimeout(f, 1, m.player.playerId === 'a'))`))
		for _, id := range []messages.PlayerID{"a", "b"} {
			d := g.handler.OnPlayerConnect(&script.ConnectMessage{Player: script.Player{PlayerID: id}})
			var got []bool
			d.Pending().Then(func(ok bool) { got = append(got, ok) })
			g.play(50 * time.Millisecond)
			if len(got) != 1 || got[0] != (id == "a") {
				t.Error(id, got)
			}
		}
		if n := g.handler.(*Handler).questions.Len(); n != 0 {
			t.Errorf("%d decisions are kept", n)
		}
	})
}

func TestALostPlayerIsHeldUnlessTheScriptReleasesIt(t *testing.T) {
	for result, hold := range map[string]bool{`undefined`: true, `true`: true, `0`: true, `'hold'`: true, `false`: false, `'release'`: false, `Promise.resolve(false)`: true} {
		g := start(t, calm(), body(`
onPlayerDetached(peerId, reason) { logger.info('lost', peerId, reason); return `+result+`; },
onPlayerReconnected(peerId, info) { logger.info('back', peerId, info.resent, info.lost, info.awayMs, info.takeover); }`))
		if d := g.handler.OnPlayerDetached(3, "timeout"); d != script.AllowIf(hold) {
			t.Error(result, d)
		}
		g.handler.OnPlayerReconnected(3, script.Reconnected{Resent: 2, Lost: 1, Away: 1500 * time.Millisecond})
		g.logged(t, "lost 3 timeout", "back 3 2 1 1500 false")
	}
	g := start(t, calm(), body(``))
	if d := g.handler.OnPlayerDetached(3, ""); d != script.Hold {
		t.Error(d)
	}
}

// realtime.md 17, D-124.
func TestTheGameSessionObject(t *testing.T) {
	g := start(t, calm(), body(`
onStartGameSession(g) {
  logger.info(Object.keys(g).join());
  logger.info(g.GameSessionId, g.gameSessionId, g.Name, g.maximumPlayerSessionCount, g.GameProperties[0].Key, g.gameProperties[0].value, g.matchmakerData, g.Status);
  logger.info(session.getGameSessionId(), JSON.stringify(session.gameProperties), session.matchmakerData, session.gameSession === g);
}, onProcessStarted() { logger.info('id', JSON.stringify(session.getGameSessionId()), JSON.stringify(session.gameProperties)); return 1; }`))
	g.handler.OnProcessStarted(nil)
	g.handler.OnStartGameSession(&messages.GameSession{ID: "arn:1", Name: "n", MaxPlayers: 9, MatchmakerData: "{}", Status: messages.GameSessionActive,
		Properties: []messages.Property{{Key: "map", Value: "moon"}, {Key: "__proto__", Value: "x"}}})
	g.logged(t, `id "" {}`, "GameSessionId,Name,FleetId,MaximumPlayerSessionCount,Port,IpAddress,DnsName,GameSessionData,MatchmakerData,Status,GameProperties",
		"arn:1 arn:1 n 9 map moon {} ACTIVE", `arn:1 {"map":"moon","__proto__":"x"} {} true`)
}

func TestCallbacksAreLookedUpWhenCalled(t *testing.T) {
	g := start(t, calm(), only(`
class Game {
  init(s) { this.session = s; s.getLogger().info('this', this === exports.ssExports); }
  onMessage(m) { this.onMessage = undefined; this.onPlayerConnect = () => false; }
}
exports.ssExports = new Game();`))
	g.logged(t, "this true")
	if ok, _ := g.handler.OnPlayerConnect(&script.ConnectMessage{}).Now(); !ok {
		t.Error("without a gate")
	}
	g.handler.OnMessage(message(1, ""))
	g.handler.OnMessage(message(1, ""))
	if ok, _ := g.handler.OnPlayerConnect(&script.ConnectMessage{}).Now(); ok {
		t.Error("with one")
	}
	if s := g.lines.String(); strings.Contains(s, "ERROR") {
		t.Error(s)
	}
}

// Methods of the session object are created when they are first used. A replacement that a script has set
// before must stay.
func TestMethodsOfTheSessionMayBeReplaced(t *testing.T) {
	for name, put := range map[string]string{
		"defined":      `Object.defineProperty(type, 'sendMessage', { value: mine, writable: true, configurable: true })`,
		"for ever":     `Object.defineProperty(type, 'sendMessage', { value: mine })`,
		"assigned":     `type.sendMessage = mine`,
		"on itself":    `session.sendMessage = mine`,
		"after others": `session.getServerId(); session.sendMessage = mine`,
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, calm(), only(`
exports.ssExports = { init(session) {
  const log = session.getLogger(), type = Object.getPrototypeOf(session), mine = () => 'mine';
  `+put+`;
  session.getPlayers();
  const names = Object.getOwnPropertyNames(type);
  log.info(session.sendMessage(), typeof session.sendReliableMessage, typeof session.getPlayers, session.getServerId(), names.length - new Set(names).size);
} };`))
			g.logged(t, "mine function function -1 0")
		})
	}
}

// A message is a plain object with six properties in a fixed order.
func TestMessagesAreObjects(t *testing.T) {
	g := start(t, calm(), only(`
let session, log;
exports.ssExports = {
  init(s) { session = s; log = s.getLogger(); },
  onMessage(m) {
    log.info(Object.keys(m).join());
    m.extra = 1; delete m.sender; delete m.nothing;
    Object.defineProperty(m, 'odd', {}); delete m.odd;
    log.info(Object.keys(m).join(), m.sender, m.opCode, m.extra);
    m.opCode = 9; m.sender = 2; m.payload = 'changed';
    session.sendReliableMessage(m, 1);
    const made = session.newBinaryGameMessage(3, 4, m.payload);
    made.payload[0] = 67; made.targetPlayer = 5;
    session.sendReliableMessage(made, 1);
  },
};`))
	g.handler.OnMessage(message(1, "x"))
	g.logged(t, "opCode,sender,targetPlayer,targetGroup,reliable,payload")
	g.logged(t, "opCode,targetPlayer,targetGroup,reliable,payload,extra undefined 1 1")
	if got := fmt.Sprint(g.sent); !strings.Contains(got, "changed") || !strings.Contains(got, "Changed") {
		t.Errorf("%s\n%s", got, &g.lines)
	}
}

func TestAnUpdateOfTheGameSession(t *testing.T) {
	g := start(t, calm(), body(`onUpdateGameSession(g, reason, id) {
		const p = session.matchedPlayers.get('p');
		logger.info([g === session.gameSession, reason, id, session.matchedPlayers.size, g.matchmakerData.length, p ? p.team + p.attributes.skill : 'nobody', Object.keys(p ? p.attributes : {})].join(' '));
	}`))
	if ok, _ := g.handler.OnStartGameSession(&messages.GameSession{ID: "arn:one"}).Now(); !ok {
		t.Fatal(g.lines.String())
	}
	update := func(data string) {
		g.handler.OnUpdateGameSession(&messages.GameSession{MatchmakerData: data}, script.Update{Reason: messages.MatchDataUpdated, TicketID: "T"})
	}
	update("")
	update(`{"teams":[{"name":"red","players":[{"playerId":"p","attributes":{"skill":{"attributeType":"DOUBLE","valueAttribute":12.0},"__proto__":{"attributeType":"STRING","valueAttribute":"x"}}}]}]}`)
	update(`{"teams":5}`)
	log := g.lines.String()
	for _, want := range []string{"true MATCHMAKING_DATA_UPDATED T 0 0 nobody", "true MATCHMAKING_DATA_UPDATED T 1 187 red12 skill,__proto__", "T 0 11 nobody"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
}

// A script may freeze its game session object. The session object still shows new matchmaker data, and the
// callback is still called.
func TestAnUpdateOfAFrozenGameSession(t *testing.T) {
	g := start(t, calm(), body(`onStartGameSession(g) { Object.freeze(g); },
	onUpdateGameSession(g, reason, id) { logger.info(reason, id, session.matchmakerData, g.MatchmakerData); }`))
	if ok, _ := g.handler.OnStartGameSession(&messages.GameSession{ID: "arn:one", MatchmakerData: "old"}).Now(); !ok {
		t.Fatal(g.lines.String())
	}
	g.handler.OnUpdateGameSession(&messages.GameSession{MatchmakerData: "new"}, script.Update{Reason: messages.MatchDataUpdated, TicketID: "T"})
	g.logged(t, "MATCHMAKING_DATA_UPDATED T new old")
}
