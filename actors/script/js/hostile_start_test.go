package js

import (
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/messages"
)

// within fails the test if f hangs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s does not return", what)
	}
}

// hurry makes the watchdog interrupt calls soon. The start of the script has already taken the time it
// needed.
func (g *game) hurry() { g.handler.(*Handler).watch.EndWithin(50*time.Millisecond, "it is hostile") }

// hostileStarts are complete files. The error of the start must contain says.
var hostileStarts = []struct{ name, source, says string }{
	{"loop", `for (;;);`, "ran for more than 50ms"},
	{"loop in init", `exports.ssExports = { init() { for (;;); } };`, "ran for more than 50ms"},
	{"error whose text never ends", `throw { toString() { for (;;); } };`, "ran for more than 50ms"},
	{"error whose text throws", `throw { toString() { throw { toString() { throw 1; } }; } };`, "(cannot be printed)"},
	{"error with an endless name", `const e = new Error('x'); Object.defineProperty(e, 'name', { get() { for (;;); } }); throw e;`, "ran for more than 50ms"},
	{"error of init with an endless stack", `exports.ssExports = { init() { throw { get stack() { for (;;); } }; } };`, "ran for more than 50ms"},
	{"endless exports", `Object.defineProperty(exports, 'ssExports', { get() { for (;;); } });`, "ran for more than 50ms"},
	{"exports that throw", `Object.defineProperty(exports, 'ssExports', { get() { throw new Error('mine'); } });`, "server.js:1:61: loading server.js: Error: mine"},
	{"exports that are a proxy", `module.exports = new Proxy({}, { get() { for (;;); } });`, "ran for more than 50ms"},
	{"endless init getter", `exports.ssExports = { get init() { for (;;); } };`, "ran for more than 50ms"},
	{"endless configuration", `Object.defineProperty(Object.prototype, 'maxPlayers', { get() { for (;;); } }); exports.ssExports = { init() {}, configuration: {} };`, "ran for more than 50ms"},
	{"configuration that throws", `Object.defineProperty(Object.prototype, 'maxPlayers', { get() { throw new Error('mine'); } }); exports.ssExports = { init() {} };`, "init: Error: mine"},
	{"endless jobs", `(function f() { Promise.resolve().then(f); })(); exports.ssExports = { init() {} };`, "ran for more than 50ms"},
	{"endless ticks", `(function f() { process.nextTick(f); })(); exports.ssExports = { init() {} };`, "ran for more than 50ms"},
	{"endless jobs without code", `const o = { then: Promise.prototype.then.bind(Promise.resolve()) }; (function f() { const p = new Promise(g => { o.r = g; }); o.r(p.constructor.resolve({ get then() { return r => r(this); } })); })(); exports.ssExports = { init() {} };`, "ran for more than 50ms"},
	{"listener that never ends", `process.on('unhandledRejection', () => { for (;;); }); Promise.reject(1); exports.ssExports = { init() {} };`, "ran for more than 50ms"},
	{"rejection whose text never ends", `Promise.reject({ toString() { for (;;); } }); exports.ssExports = { init() {} };`, "ran for more than 50ms"},
}

func TestAHostileStartEnds(t *testing.T) {
	for _, c := range hostileStarts {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			within(t, "the start", func() {
				limits := calm()
				if strings.Contains(c.says, "ran for more than") { // the other rows end by themselves, however busy the machine is
					limits.Callback = 50 * time.Millisecond
				}
				g, err := load(t, limits, only(c.source))
				if err == nil || !strings.Contains(err.Error()+g.lines.String(), c.says) {
					t.Errorf("%v, want %q\n%s", err, c.says, &g.lines)
				}
				if log := g.lines.String(); strings.Contains(log, "goroutine") || strings.Contains(log, "engine failed") {
					t.Error(log)
				}
			})
		})
	}
}

// hang puts endless loops into everything that the host might use while it builds the arguments of a
// callback: globals, and properties that objects inherit.
const hang = `
function hang() { for (;;); }
function hangAll() {
  for (const k of ['Uint8Array', 'ArrayBuffer', 'Array', 'Object', 'Map', 'Promise', 'Error', 'RangeError', 'Proxy']) globalThis[k] = hang;
  for (const k of ['Key', 'Value', 'GameSessionId', 'Name', 'FleetId', 'MaximumPlayerSessionCount', 'Port', 'IpAddress', 'DnsName', 'GameSessionData', 'MatchmakerData', 'Status',
    'GameProperties', 'resent', 'lost', 'awayMs', 'takeover', 'peerId', 'playerId', 'payload', 'opCode', 'waiting', 'then', '0', '1', 'name', 'message', 'stack'])
    define(prototype, k, { get: hang, set: hang, configurable: true });
}
const define = Object.defineProperty, prototype = Object.prototype;
`

func TestArgumentsAreMadeWhereTheWatchdogLooksOn(t *testing.T) {
	game := &messages.GameSession{ID: "gsess-1", Name: "n", Properties: []messages.Property{{Key: "k", Value: "v"}}}
	player := script.Player{PeerID: 1, PlayerID: "anna", PlayerSessionID: "psess-1"}
	for name, call := range map[string]func(h script.Handler){
		"onProcessStarted":   func(h script.Handler) { h.OnProcessStarted([]string{"a", "b"}) },
		"onStartGameSession": func(h script.Handler) { h.OnStartGameSession(game) },
		"onHealthCheck":      func(h script.Handler) { h.OnHealthCheck() },
		"onProcessTerminate": func(h script.Handler) { h.OnProcessTerminate() },
		"onPlayerConnect": func(h script.Handler) {
			h.OnPlayerConnect(&script.ConnectMessage{Player: player, Payload: []byte("p")})
		},
		"onPlayerAccepted":    func(h script.Handler) { h.OnPlayerAccepted(player) },
		"onPlayerDetached":    func(h script.Handler) { h.OnPlayerDetached(1, "why") },
		"onPlayerReconnected": func(h script.Handler) { h.OnPlayerReconnected(1, script.Reconnected{}) },
		"onPlayerDisconnect":  func(h script.Handler) { h.OnPlayerDisconnect(1) },
		"onMessage":           func(h script.Handler) { h.OnMessage(message(1, "x")) },
		"onSendToPlayer":      func(h script.Handler) { h.OnSendToPlayer(message(1, "x")) },
		"onSendToGroup":       func(h script.Handler) { h.OnSendToGroup(message(1, "x")) },
		"onPlayerJoinGroup":   func(h script.Handler) { h.OnPlayerJoinGroup(2, 1) },
		"onPlayerLeaveGroup":  func(h script.Handler) { h.OnPlayerLeaveGroup(2, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, calm(), only(hang+`exports.ssExports = { init() { hangAll(); }, `+name+`(x) { } };`))
			g.hurry()
			within(t, name, func() { call(g.handler) })
			if g.exit != nil && !strings.Contains(g.crash, "was interrupted: it is hostile") {
				t.Error(g.crash, &g.lines)
			}
		})
	}
}
