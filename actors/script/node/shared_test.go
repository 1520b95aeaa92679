package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/node"
	"troupe/messages"
)

// evaluate is a script that answers a message with the value of its text. Its module and globals count loads.
const evaluate = `
let session;
loads = (typeof loads === 'undefined' ? 0 : loads) + 1;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) {
    const say = text => session.sendReliableMessage(session.newTextGameMessage(9, -1, String(text)), m.sender);
    say(eval(m.getPayloadAsText()));
  },
};`

// evaluates sends code and waits for its value.
func (p *player) evaluates(code, want string) {
	p.g.Helper()
	p.Say(1, messages.ServerPeer, 0, code)
	p.gets(fmt.Sprintf("9 from -1 to player %d: %s", p.Peer(), want))
}

// value sends code and returns its value.
func (p *player) value(code string) (text string) {
	p.g.Helper()
	p.Say(1, messages.ServerPeer, 0, code)
	p.g.Until(func() string {
		if p.got = append(p.got, p.Take()...); len(p.got) == 0 {
			return "no value\n" + p.g.log.String()
		}
		return ""
	})
	_, text, _ = strings.Cut(p.got[0], ": ")
	p.got = p.got[1:]
	return text
}

// beside runs test with a player in each of two game sessions of one process.
func beside(t *testing.T, s setup, test func(a, b *player)) {
	t.Helper()
	if s.perProcess == 0 {
		s.perProcess = 2
	}
	play(t, evaluate, s, func(g *game) {
		o := g.another()
		o.await(messages.GameSessionActive)
		a, b := g.enter(), o.enter()
		b.evaluates("process.pid", a.value("process.pid"))
		test(a, b)
	})
}

func TestGamesOfAProcessShareNothing(t *testing.T) {
	files := map[string]string{"state.js": "exports.list = [];", "other.mjs": "export let n = 0; export const add = () => ++n; export const url = import.meta.url;"}
	beside(t, setup{short: true, files: files}, func(a, b *player) {
		for _, c := range []struct{ change, see, want string }{
			{"loads", "loads", "1"},
			{"undeclared = 5", "typeof undeclared", "undefined"},
			{"globalThis.x = 5", "typeof x + typeof global.x + (global === globalThis)", "undefinedundefinedtrue"},
			{"Array.prototype.evil = 5", "[].evil", "undefined"},
			{"Uint8Array.prototype.evil = 5", "m.payload.evil", "undefined"},
			{"JSON.stringify = null", "JSON.stringify([1])", "[1]"},
			{"setTimeout = null", "typeof setTimeout + typeof require('timers').setTimeout", "functionfunction"},
			{"require('./state').list.push(1)", "require('./state').list.length", "0"},
			{"require('./other.mjs').add() + require('./other.mjs').add()", "require('./other.mjs').add()", "1"},
			{"process.env.EVIL = '5'", "process.env.EVIL", "undefined"},
			{"process.argv.push('x')", "process.argv.length", "2"},
			{"process.on('exit', () => 0)", "process.listenerCount('exit')", "0"},
			{"console.log = null", "typeof console.log", "function"},
			{"session.extra = 5", "session.extra", "undefined"},
		} {
			a.value(c.change)
			b.evaluates(c.see, c.want)
		}
		for code, want := range map[string]string{ // the objects of Node's own context
			"Buffer.from('x') instanceof Uint8Array": "true",
			"(() => { try { require('fs').readFileSync('/nowhere'); } catch (e) { return e instanceof Error; } })()":                        "true",
			"[] instanceof Array && !([] instanceof Map) && class X extends Error {} && !(new Error() instanceof class X extends Error {})": "true",
			"new URL('http://a/b').pathname + typeof fetch + typeof structuredClone":                                                        "/bfunctionfunction",
			"require('/local/game/server.js') === module.exports && require.main === module":                                                "true",
			"require('./other.mjs').url": "/v-1/other.mjs",
			"require('util').inspect(new Map([[1, {a: [new Error('x').message]}]]))": "Map(1) { 1 => { a: [ 'x' ] } }",
		} {
			if got := a.value(code); !strings.HasSuffix(got, want) {
				t.Errorf("%s is %s, want %s", code, got, want)
			}
		}
		a.evaluates("m.payload.constructor === Uint8Array && m.payload instanceof Uint8Array", "true")
	})
}

// What ends one game session in a process of its own ends one of many, and its timers with it.
func TestAGameEndsAlone(t *testing.T) {
	const oops = "throw new RangeError('oops')"
	for name, c := range map[string]struct{ code, reason, log string }{
		"timer":       {"setTimeout(() => { " + oops + " }, 1)", "Uncaught error: RangeError: oops", "RangeError: oops\n    at Timeout"},
		"interval":    {"setInterval(() => { throw 5 }, 1); 0", "Uncaught error: 5", ""},
		"immediate":   {"setImmediate(() => { " + oops + " }); 0", "Uncaught error: RangeError: oops", ""},
		"tick":        {"process.nextTick(() => { " + oops + " })", "Uncaught error: RangeError: oops", ""},
		"microtask":   {"queueMicrotask(() => { throw 'text' })", "Uncaught error: text", ""},
		"file":        {"require('fs').stat('/', () => { " + oops + " })", "Uncaught error: RangeError: oops", ""},
		"promise":     {"Promise.reject(7)", "Unhandled promise rejection: 7", ""},
		"async":       {"(async () => { await require('fs').promises.stat('/nowhere'); })()", "Unhandled promise rejection: Error: ENOENT", ""},
		"exit":        {"setTimeout(() => { try { process.exit(3); } finally { session.sendReliableMessage(session.newTextGameMessage(9, -1, 'never'), m.sender); } }, 1)", "exited with an error code", ""},
		"exit, later": {"session.processEnding().then(() => process.exit(3))", "exited with an error code", ""},
		"last words":  {"process.on('exit', () => console.log('bye')); process.stdout.write('half a line'); setTimeout(() => process.exit(1), 1)", "exited", "[INFO] (server.js) 8: half a line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside(t, setup{}, func(a, b *player) {
				b.value("require('os').marks = 0")
				a.value("for (let i = 0; i < 20; i++) setTimeout(() => 0, 1e6); setInterval(() => { require('os').marks++; }, 1); 0")
				a.Say(1, messages.ServerPeer, 0, c.code)
				a.g.ended(c.reason)
				if c.log != "" && !strings.HasPrefix(name, "last") {
					a.g.logged(c.log)
				}
				b.evaluates("6 * 7", "42")
				<-a.g.closed
				b.g.Until(func() string { // when the script's process has been told
					if n := b.value("process.getActiveResourcesInfo().filter(r => r === 'Timeout').length"); len(n) > 1 {
						return n + " timers wait"
					}
					return ""
				})
				marks := b.value("require('os').marks")
				for range 20 {
					b.evaluates("require('os').marks", marks)
				}
				if got := a.Take(); strings.Contains(strings.Join(got, " "), "never") {
					t.Error("a game session that has exited sends", got)
				}
				o := b.g.another() // in the place that is free
				o.await(messages.GameSessionActive)
				o.enter().evaluates("loads + '-' + process.pid", "1-"+b.value("process.pid"))
			})
		})
	}
}

// If the process fails, its game sessions end with its number and its last lines, and others do not.
func TestAProcessEndsWithItsGames(t *testing.T) {
	onLinux(t)
	for name, c := range map[string]struct{ code, reason, log string }{
		"aborts":           {"require('fs').writeSync(2, 'last line\\n'); process.abort()", "signal: aborted", "[ERROR] (stderr) 0: last line"},
		"killed":           {"require('fs').writeSync(1, 'half a line'); process.kill(process.pid, 'SIGKILL')", "signal: killed", "[INFO] (stdout) 0: half a line"},
		"heap":             {"const l = []; for (;;) l.push({ n: [l.length] });", "heap out of memory", "FATAL ERROR"},
		"loop":             {"begun(); for (;;);", "did not answer within 30s", "begun"},
		"no frame":         {"require('fs').writeSync(4, 'garbage')", "the host does not understand", ""},
		"an odd frame":     {"require('fs').writeSync(4, Buffer.from([6, 0, 0, 0, 1, 0, 0, 0, 9, 0]))", "malformed frame of kind 9", ""},
		"an ack of a game": {"require('fs').writeSync(4, Buffer.from([9, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0]))", "malformed frame of kind 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside(t, setup{limits: func(l *script.Limits) { l.MemoryMax = 64 << 20 }}, func(a, b *player) {
				o := a.g.another()
				o.await(messages.GameSessionActive)
				other := o.enter()
				if a.value("process.pid") == other.value("process.pid") {
					t.Error("three game sessions share a process for two")
				}
				a.Say(1, messages.ServerPeer, 0, "function begun() { require('fs').writeSync(2, 'begun\\n'); } "+c.code)
				if name == "loop" {
					a.g.interrupted()
				}
				for _, p := range []*player{a, b} {
					p.g.ended("process 1 with 2 game sessions: ")
					p.g.ended(c.reason)
					p.g.logged(c.log)
				}
				other.evaluates("6 * 7", "42")
				n := o.another()
				n.await(messages.GameSessionActive)
				n.enter().evaluates("process.pid", other.value("process.pid"))
			})
		})
	}
}

// Frames for a game session that does not exist are ignored.
func TestFramesOfNoGameAreIgnored(t *testing.T) {
	beside(t, setup{}, func(a, b *player) {
		a.value("require('fs').writeSync(4, Buffer.from([5, 0, 0, 0, 99, 0, 0, 0, 9]))")
		b.evaluates("6 * 7", "42")
	})
}

// An update closes the program: its game sessions go on, and it takes no new ones.
func TestAnUpdateDrainsProcesses(t *testing.T) {
	beside(t, setup{perProcess: 3}, func(a, b *player) {
		closed := make(chan struct{})
		go func() { a.g.program.Close(); close(closed) }()
		a.g.Until(func() string {
			if h, err := a.g.program.NewHandler(script.Process{Counters: a.g.Count}); err == nil {
				h.(script.Closer).Close()
				return "not closed"
			}
			return ""
		})
		a.Say(1, messages.ServerPeer, 0, "process.exit(1)")
		a.g.ended("exited")
		b.evaluates("6 * 7", "42")
		b.Say(1, messages.ServerPeer, 0, "process.exit(1)")
		b.g.ended("exited")
		<-closed
		if err := a.g.program.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestManyGamesEndAtOnce(t *testing.T) {
	beside(t, setup{perProcess: 100}, func(a, b *player) {
		var all []*game
		for range 198 {
			all = append(all, a.g.another())
		}
		for _, g := range all {
			g.await(messages.GameSessionActive)
		}
		if n := a.g.Count.ScriptProcesses.Load(); n != 2 {
			t.Errorf("%d processes", n)
		}
		a.Say(1, messages.ServerPeer, 0, "process.abort()")
		var others []*game
		for _, g := range append(all, a.g, b.g) {
			if node.Number(g.handler) == 1 {
				g.ended("process 1 with 100 game sessions: node ended (signal: aborted")
			} else {
				others = append(others, g)
			}
		}
		if len(others) != 100 {
			t.Fatalf("%d game sessions are in another process", len(others))
		}
		others[0].enter().evaluates("6 * 7", "42")
		for _, g := range others {
			g.inside(func() { g.session.Exit(1) })
		}
		for _, g := range others {
			g.ended("exited")
		}
	})
}

// A game session that sends as fast as it can delays another one of its process, but does not stop it.
func TestALoudGameBesideAQuietOne(t *testing.T) {
	beside(t, setup{}, func(a, b *player) {
		a.value(`const text = 'x'.repeat(1000); const loud = () => {
			for (let i = 0; i < 500; i++) session.sendReliableGroupMessage(session.newTextGameMessage(8, -1, text), 77);
			setImmediate(loud);
		}; loud()`)
		for i := range 100 {
			b.evaluates(fmt.Sprint(i, " * 2"), fmt.Sprint(i*2))
		}
		a.evaluates("'still here'", "still here")
	})
}

// Limits on timers are those of a game session.
func TestTimersAreCountedPerGame(t *testing.T) {
	beside(t, setup{limits: func(l *script.Limits) { l.TimersMax, l.Tick = 10, time.Second }}, func(a, b *player) {
		const ten = "(() => { try { for (let i = 0; i < 11; i++) setTimeout(() => 0, 1e6); } catch (e) { return e.message; } })()"
		a.evaluates(ten, "more than 10 timers wait")
		b.evaluates(ten, "more than 10 timers wait")
	})
}
