package js

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/script"
)

// trace runs a script for d and returns the words that it passed to t.
func trace(t *testing.T, limits script.Limits, d time.Duration, source string) (string, *game) {
	g := start(t, limits, body(`
onMessage(m) { const t = w => logger.info('t:' + w); `+source+` }`))
	g.handler.OnMessage(message(1, ""))
	g.play(d)
	var words []string
	for _, line := range strings.Split(g.lines.String(), "\n") {
		if _, w, ok := strings.Cut(line, ": t:"); ok {
			words = append(words, w)
		}
	}
	return strings.Join(words, " "), g
}

// RT-76.
func TestTimersFireBetweenCallbacksInOrder(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"due, then created":  {`setTimeout(t, 20, 'c'); setTimeout(t, 10, 'a'); setTimeout(t, 10, 'b'); setTimeout(t, 0, '0'); t('now');`, "now 0 a b c"},
		"odd delays are 1ms": {`setTimeout(t, -5, 'a'); setTimeout(t, NaN, 'b'); setTimeout(t, undefined, 'c'); setTimeout(t, '2', 'e'); setTimeout(t, 1e12, 'd'); setTimeout(t, 1.9, 'x');`, "a b c d x e"},
		"jobs first": {`
setTimeout(() => { t('timer1'); Promise.resolve().then(() => t('job1')); process.nextTick(() => t('tick1')); }, 1);
setTimeout(() => { t('timer2'); queueMicrotask(() => t('job2')); }, 1);
Promise.resolve().then(() => { t('job'); process.nextTick(t, 'tick of job'); }).then(() => t('second job'));
process.nextTick(() => { t('tick'); process.nextTick(t, 'tick of tick'); });
setImmediate(() => { t('immediate'); setImmediate(t, 'immediate of immediate'); });
t('now');`, "now tick tick of tick job second job tick of job immediate immediate of immediate timer1 tick1 job1 timer2 job2"},
		"interval":              {`let n = 0; const i = setInterval(() => { t(++n); if (n === 3) clearInterval(i); }, 10);`, "1 2 3"},
		"cleared":               {`const a = setTimeout(t, 5, 'a'), b = setTimeout(() => { t('b'); clearTimeout(a); clearTimeout(b); clearInterval(c); clearImmediate(d); }, 4), c = setInterval(t, 6, 'c'), d = setImmediate(t, 'd'); clearImmediate(d); clearTimeout(null); clearTimeout(undefined); clearTimeout({}); clearTimeout(99999); clearInterval('x');`, "b"},
		"cleared by number":     {`const a = setTimeout(t, 5, 'a'); clearTimeout(+a); clearTimeout(String(+setTimeout(t, 5, 'b'))); t(typeof +a);`, "number"},
		"handles":               {`const a = setTimeout(t, 5, 'a'); t(a.unref() === a && a.ref() === a && a.hasRef()); a.refresh(); a.close(); t(a.hasRef()); const b = setTimeout(t, 5, 'b'); setTimeout(() => b.refresh(), 3); setTimeout(t, 6, 'c');`, "true false c b"},
		"within a timer":        {`setTimeout(() => { setTimeout(t, 0, 'inner'); t('outer'); }, 1); setTimeout(t, 1, 'next');`, "outer next inner"},
		"async loop":            {`(async () => { for (let i = 0; i < 3; i++) { await new Promise(f => setTimeout(f, 500)); t(i); } })();`, "0 1 2"},
		"not a function":        {`for (const f of [undefined, 'code', {}]) try { setTimeout(f, 1); } catch (e) { t(e.name + e.code); }`, "TypeErrorERR_INVALID_ARG_TYPE TypeErrorERR_INVALID_ARG_TYPE TypeErrorERR_INVALID_ARG_TYPE"},
		"this and the rest":     {`const h = setTimeout(function () { t(this === h); t(arguments.length); }, 1, 1, 2, 3);`, "true 3"},
		"this without a rest":   {`const h = setTimeout(function () { t(this === h); t(arguments.length); }, 1); setTimeout(() => { t('x'); Promise.resolve().then(() => t('job')); process.nextTick(t, 'tick'); }, 2);`, "true 0 x tick job"},
		"interval that is late": {`let n = 0; const i = setInterval(() => { t(++n); const until = Date.now() + 0; if (n === 2) clearInterval(i); }, 1);`, "1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, g := trace(t, actorstest.ScriptLimits(), 5*time.Second, c.source)
				if got != c.want {
					t.Errorf("got  %s\nwant %s\n%s", got, c.want, &g.lines)
				}
				if h := g.handler.(*Handler); len(h.timers.byID)+len(h.timers.queue)+h.timers.waiting != 0 {
					t.Errorf("%d timers are left, %d waiting", len(h.timers.byID), h.timers.waiting)
				}
			})
		})
	}
}

// util.promisify returns the functions of timers/promises, as in Node.js.
func TestTimersCanBePromisified(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"setTimeout":   {`const wait = require('util').promisify(setTimeout); const begun = Date.now(); wait(20, 'v').then(v => t(v + (Date.now() - begun))); t('now');`, "now v20"},
		"setImmediate": {`const soon = require('util').promisify(setImmediate); (async () => { t(await soon('v')); t(await soon()); })(); t('now');`, "now v undefined"},
		"of timers":    {`const { promisify } = require('util'), timers = require('node:timers'); promisify(timers.setTimeout)(5, 'a').then(t); promisify(timers.setImmediate)('b').then(t);`, "b a"},
		"the same":     {`const { promisify } = require('util'), p = require('timers/promises'); t(promisify(setTimeout) === p.setTimeout && promisify(setImmediate) === p.setImmediate);`, "true"},
		"used before":  {`setTimeout(t, 1, 'a'); const { promisify } = require('util'); promisify(setTimeout)(2, 'b').then(t);`, "a b"},
		"setInterval":  {`require('util').promisify(setInterval)(5).catch(e => t(e.name + e.code));`, "TypeErrorERR_INVALID_ARG_TYPE"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got, g := trace(t, actorstest.ScriptLimits(), time.Second, c.source); got != c.want {
					t.Errorf("got  %s\nwant %s\n%s", got, c.want, &g.lines)
				}
			})
		})
	}
}

// The order is that of Node.js 20 for the same script.
func TestTicksAndJobsRunInTheOrderOfNode(t *testing.T) {
	const source = `
process.nextTick(() => { t('t1'); Promise.resolve().then(() => t('p-in-t1')); });
Promise.resolve().then(() => { t('p1'); process.nextTick(() => { t('t3'); Promise.resolve().then(() => t('p-in-t3')); }); process.nextTick(t, 't4'); }).then(() => t('p2'));
queueMicrotask(() => t('qm'));
process.nextTick(t, 't2');
`
	const want = "t1 t2 p1 qm p-in-t1 p2 t3 t4 p-in-t3"
	for place, script := range map[string]string{
		"at the top":    source + `exports.ssExports = { init(s) { s.getLogger().info(words.join(' ')); } };`,
		"in a function": `exports.ssExports = { init(s) { ` + source + ` setTimeout(() => s.getLogger().info(words.join(' ')), 5); } };`,
		"in a timer":    `exports.ssExports = { init(s) { setTimeout(() => { ` + source + ` setTimeout(() => s.getLogger().info(words.join(' ')), 5); }, 1); } };`,
		"in a job":      `exports.ssExports = { async init(s) { await null; await null; ` + source + ` setTimeout(() => s.getLogger().info(words.join(' ')), 5); } };`,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := start(t, calm(), only(`const words = [], t = w => words.push(w);`+script))
			g.play(time.Second)
			w := want
			if place == "in a job" { // inside a job, the other jobs run before ticks
				w = "p1 qm p2 t1 t2 t3 t4 p-in-t1 p-in-t3"
			}
			if !strings.Contains(g.lines.String(), ": "+w+"\n") {
				t.Errorf("%s: %s", place, &g.lines)
			}
		})
	}
}

// As in Node.js, an error in a tick ends the game session at once. An unhandled error in a promise job ends
// it when the other jobs have run.
func TestAnOverflowDoesWhatAnyErrorDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const job = `Promise.resolve().then(function f() { f(); }); Promise.resolve().then(() => { t('a'); Promise.resolve().then(() => t('b')); });`
		for source, want := range map[string]struct{ words, crash, says string }{
			job: {"a b", "Unhandled promise rejection: RangeError: Maximum call stack size exceeded", "Unhandled promise rejection"},
			`Promise.resolve().then(function f() { f(); }).catch((e) => t(e.name)).then(() => t('a'));`:                                 {"RangeError a", "", ""},
			`(async function f() { await f(); })().catch((e) => t(e.message));`:                                                         {"Maximum call stack size exceeded", "", ""},
			`process.nextTick(function f() { f(); }); process.nextTick(t, 'a'); Promise.resolve().then(() => t('b'));`:                  {"", "Uncaught error: RangeError: Maximum call stack size exceeded", "Uncaught error"},
			`process.nextTick(t, 'a'); Promise.resolve().then(() => t('b')); (function f() { f(); })();`:                                {"a b", "", "Error in onMessage"},
			`process.on('uncaughtException', (e) => t(e.name)); process.nextTick(function f() { f(); }); process.nextTick(t, 'a');`:     {"RangeError a", "", ""},
			`process.on('unhandledRejection', (e) => t(e.name)); Promise.resolve().then(function f() { f(); }).then(() => t('never'));`: {"RangeError", "", ""},
		} {
			got, g := trace(t, calm(), 20*time.Millisecond, source)
			if got != want.words || g.crash != want.crash {
				t.Errorf("%s: %q, crash %q\n%s", source, got, g.crash, &g.lines)
			}
			if want.says != "" && !strings.Contains(g.lines.String(), want.says+": RangeError: Maximum call stack size exceeded\n    at f (/local/game/server.js:") {
				t.Errorf("%s: %s", source, &g.lines)
			}
		}
		// With Node.js 10.x, an unhandled rejection is only a warning.
		g, err := loadInto(t, &game{node: "10.x"}, calm(), body(`onMessage() { Promise.resolve().then(function f() { f(); }); }`))
		if err != nil {
			t.Fatal(err)
		}
		g.handler.OnMessage(message(1, ""))
		if g.logged(t, "[WARN]", "Unhandled promise rejection: RangeError: Maximum call stack size exceeded"); g.crash != "" {
			t.Error(g.crash)
		}
	})
}

func TestAnIntervalKeepsItsBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, _ := trace(t, actorstest.ScriptLimits(), 10*time.Second, `
const begun = Date.now(); let n = 0;
const i = setInterval(() => { t(Date.now() - begun); if (++n === 5) clearInterval(i); }, 50);`)
		if got != "50 100 150 200 250" {
			t.Error(got)
		}
	})
}

func TestAnIntervalAfterAPauseLeavesBeatsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, actorstest.ScriptLimits(), body(`onMessage() { this.n = 0; setInterval(() => { this.n++; }, 10); }, onHealthCheck() { logger.info('beats', this.n); return true; }`))
		g.handler.OnMessage(message(1, ""))
		time.Sleep(time.Second) // simulates an actor that is busy
		g.play(25 * time.Millisecond)
		g.handler.OnHealthCheck()
		g.logged(t, "beats 3")
	})
}

func TestErrorsOutsideOfCallbacksEndTheGame(t *testing.T) {
	for source, says := range map[string]string{
		`setTimeout(() => { throw new Error('boom'); }, 1);`:              "Uncaught error: Error: boom",
		`setImmediate(() => { null.x; });`:                                "Uncaught error: TypeError",
		`process.nextTick(() => { throw 'text'; });`:                      "Uncaught error: 'text'",
		`queueMicrotask(() => { throw new RangeError('r'); });`:           "Uncaught error: RangeError: r",
		`setTimeout(() => { (function f() { f(); })(); }, 1);`:            "RangeError: Maximum call stack size exceeded",
		`setTimeout(() => { process.nextTick(() => { throw 1; }); }, 1);`: "Uncaught error: 1",
	} {
		for _, keep := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				limits := actorstest.ScriptLimits()
				limits.KeepRunningOnError = keep
				got, g := trace(t, limits, time.Second, source+`setTimeout(t, 100, 'later');`)
				if want := map[bool]string{true: "later"}[keep]; got != want {
					t.Errorf("%s, %v: ran %q", source, keep, got)
				}
				if (g.crash == "") != keep || g.counters.ScriptErrors.Load() != 1 {
					t.Errorf("%s, %v: crash %q, %d errors", source, keep, g.crash, g.counters.ScriptErrors.Load())
				}
				if !strings.Contains(strings.ReplaceAll(g.lines.String(), "text", "'text'"), says) && !strings.Contains(g.lines.String(), says) {
					t.Errorf("%s: %s", source, &g.lines)
				}
			})
		}
	}
}

func TestExitStopsInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		code   int
	}{
		"at once":              {`t('a'); process.exit(3); t('b');`, 3},
		"behind catch":         {`t('a'); try { process.exit(3); } catch (e) { t('b'); } finally { t('c'); }`, 3},
		"in a callback":        {`t('a'); try { [1, 2].forEach(() => { process.exit(3); t('b'); }); } finally { t('c'); }`, 3},
		"as a callback":        {`t('a'); [3].forEach(process.exit); t('b');`, 3},
		"in a job":             {`t('a'); Promise.resolve().then(() => { process.exit(3); t('b'); }).then(t, t); Promise.resolve().then(() => t('c'));`, 3},
		"in a tick":            {`t('a'); process.nextTick(() => { process.exit(3); t('b'); }); process.nextTick(t, 'c'); Promise.resolve().then(() => t('d'));`, 3},
		"in a timer":           {`t('a'); setTimeout(() => { process.exit(3); t('b'); }, 1); setTimeout(t, 1, 'c');`, 3},
		"in a generator":       {`t('a'); for (const x of (function* () { try { yield 1; } finally { t('b'); } })()) process.exit(3);`, 3},
		"in an async function": {`(async () => { t('a'); try { await null; process.exit(3); t('b'); } catch (e) { t('c'); } finally { t('d'); } })();`, 3},
		"without a code":       {`t('a'); process.exit();`, 0},
		"with exitCode":        {`t('a'); process.exitCode = 3; process.exit();`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, g := trace(t, actorstest.ScriptLimits(), time.Second, c.source)
				if got != "a" || g.exit == nil || *g.exit != c.code || g.crash != "" {
					t.Errorf("ran %s, exit %v, crash %q\n%s", got, g.exit, g.crash, &g.lines)
				}
				if strings.Contains(g.lines.String(), "ERROR") {
					t.Error(&g.lines)
				}
			})
		})
	}
}

func TestSlowCallsAreCountedAndWarnedOfNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := actorstest.ScriptLimits()
		limits.Tick = 5 * time.Millisecond
		g := start(t, limits, body(`onMessage() { logger.info('slow'); }`))
		g.lines.during = func() { time.Sleep(6 * time.Millisecond) }
		for range 3 {
			g.handler.OnMessage(message(1, ""))
		}
		if n := g.counters.ScriptSlowCalls.Load(); n != 3 {
			t.Errorf("%d slow calls", n)
		}
		if n := strings.Count(g.lines.String(), "more than 5ms holds the game up"); n != 1 {
			t.Error(&g.lines)
		}
	})
}

// Timers fire in the order of their delays, however long the call that sets them takes.
func TestTimersOfOneCallStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, actorstest.ScriptLimits(), only(`
let logger;
exports.ssExports = {
  init(s) { logger = s.getLogger(); },
  onMessage(m) {
    setTimeout(() => logger.info('second'), 30);
    logger.info('slow');
    setTimeout(() => logger.info('first'), 10);
  },
};`))
		g.lines.during = func() { time.Sleep(40 * time.Millisecond) }
		g.handler.OnMessage(&script.Message{OpCode: 1, Sender: 1})
		g.play(time.Second)
		if lines := g.lines.String(); strings.Index(lines, "first") < 0 || strings.Index(lines, "first") > strings.Index(lines, "second") {
			t.Error(lines)
		}
	})
}

// Other game sessions get turns while many timers are due.
func TestManyTimersThatAreDueGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, set := range []string{"setTimeout(run, 1, w)", "setImmediate(run, w)"} {
			g := start(t, calm(), body(`
onMessage() {
  const run = w => { logger.info('t:' + w); };
  for (const w of ['a', 'b', 'c']) `+set+`;
},
onHealthCheck() { logger.info('t:between'); return true; }`))
			g.lines.during = func() { time.Sleep(3 * time.Millisecond) }
			g.handler.OnMessage(message(1, ""))
			for range 3 {
				(<-g.tasks)()
				g.handler.OnHealthCheck()
			}
			var words []string
			for line := range strings.Lines(g.lines.String()) {
				if _, w, ok := strings.Cut(line, ": t:"); ok {
					words = append(words, strings.TrimSpace(w))
				}
			}
			if got := strings.Join(words, " "); got != "a between b between c between" {
				t.Errorf("%s: %s", set, got)
			}
		}
	})
}
