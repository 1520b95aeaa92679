package scripts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/transport/transporttest/stock"
)

// Each of these tests is for a difference between the engines that has been fixed.

// lines returns the lines that the script's files have logged.
func (w *world) lines() (list []string) {
	w.Helper()
	for _, l := range w.log.all() {
		if l.Row > 0 {
			list = append(list, fmt.Sprintf("%s %s:%d %s", l.Level, l.File, l.Row, l.Text))
		}
	}
	return list
}

// wrote compares the lines that the script has logged.
func (w *world) wrote(want ...string) {
	w.Helper()
	if got := w.lines(); !slices.Equal(got, want) {
		w.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A termination by the service waits for promise jobs of onProcessTerminate, and for the promise that it
// returns.
func TestProcessTerminateMayTakeTime(t *testing.T) {
	const promised = `async onProcessTerminate() { say('one'); const o = await session.processEnding(); say('two');
		await new Promise(resolve => setTimeout(resolve, 100)); say('three ' + o); console.log('said'); }`
	const jobs = `onProcessTerminate() { say('one'); session.processEnding().then(o => { say('two'); return o; }).then(o => {
		process.nextTick(() => { say('three ' + o); console.log('said'); }); }); }`
	const rejected = `async onProcessTerminate() { say('one'); await session.processEnding(); say('two'); await null; say('three true'); throw new Error('said'); }`
	for name, callback := range map[string]string{"promised": promised, "jobs": jobs, "rejected": rejected} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				w := start(t, e, one(t, `
					let session;
					const say = text => session.sendReliableGroupMessage(session.newTextGameMessage(2, -1, text), -1);
					exports.ssExports = { init(s) { session = s; }, `+callback+` };`), setup{})
				game := w.newGame(4)
				ann := w.join(game, "ann")
				w.terminate(game)
				w.heard(ann, 2, "one")
				w.heard(ann, 2, "two")
				w.heard(ann, 2, "three true")
				w.awaitClose(ann)
				w.log.awaitEnd(t)
				if !w.log.has("said") {
					t.Errorf("the log ends early:\n%s", w.log)
				}
				w.awaitStatus(game, types.GameSessionStatusTerminated)
				w.crashes(0)
			})
		})
	}
}

// Messages that promise jobs of an accepting callback send come before the effects of its decision.
func TestJobsOfAGateComeBeforeWhatItDecides(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init(s) { session = s; },
				onSendToPlayer(message) {
					Promise.resolve().then(() => session.sendReliableMessage(session.newTextGameMessage(2, -1, 'from the script'), message.targetPlayer));
					return true;
				},
			};`), setup{})
		game := w.newGame(4)
		ann, bob := w.join(game, "ann"), w.join(game, "bob")
		for range 20 {
			w.send(ann, stock.Message{OpCode: 2, TargetPlayer: 2, Payload: []byte("from ann"), Reliable: true})
			w.heard(bob, 2, "from the script")
			w.heard(bob, 2, "from ann")
		}
	})
}

// TypeScript files may be imported by the name of the compiler's output.
func TestTypeScriptThatImportsByTheNameOfTheOutput(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, files(t,
			"script.ts", "import { a } from './a.js';\nimport b from './lib/b.js';\nexport const ssExports = { init() { console.log(a, b); } };",
			"a.ts", "export const a: string = 'a';",
			"lib/b.ts", "import c from '../c.js';\nexport default 'b' + c;",
			"c.js", "module.exports = 'c';",
			"c.ts", "export default 'not this one';"), setup{Launch: "script.ts"})
		w.newGame(4)
		w.wrote("INFO script.ts:3 a bc")
	})
}

// When init is called, the promise jobs of the script's files have run.
func TestOrderOfTheStart(t *testing.T) {
	const body = `
		const log = what => console.log(what);
		let cfg = null;
		setTimeout(() => log('timer'), 0);
		setImmediate(() => log('immediate'));
		Promise.resolve().then(() => log('job')).then(() => { cfg = { mode: 'x' }; });
		process.nextTick(() => log('tick'));
		log('top');
		const callbacks = {
			init() {
				log(cfg);
				setImmediate(() => log('immediate of init'));
				Promise.resolve().then(() => log('job of init'));
				process.nextTick(() => log('tick of init'));
			},
			onProcessStarted() { log('started'); Promise.resolve().then(() => log('job of started')); return true; },
			onStartGameSession() { log('game'); },
		};`
	everyEngine(t, func(t *testing.T, e engine) {
		for name, files := range map[string]string{
			"script.js":  files(t, "script.js", body+"exports.ssExports = callbacks;"),
			"script.mjs": files(t, "script.mjs", body+"export const ssExports = callbacks;"),
		} {
			w := start(t, e, files, setup{Launch: name})
			w.newGame(4)
			for _, text := range []string{"timer", "immediate of init"} {
				w.log.await(t, text)
			}
			var got, soon []string
			for _, l := range w.log.all() {
				switch {
				case l.Row == 0:
				case strings.HasPrefix(l.Text, "immediate"), l.Text == "timer":
					soon = append(soon, l.Text)
					if !slices.Contains(got, "job of init") {
						t.Errorf("%s: %s comes before init is over", name, l.Text)
					}
				default:
					got = append(got, l.Text)
				}
			}
			want := "top, tick, job, { mode: 'x' }, tick of init, job of init, started, job of started, game"
			// an ES module of Node.js starts as a promise job
			if name == "script.mjs" && strings.HasPrefix(strings.Join(got, ", "), "top, job, tick") {
				want = strings.Replace(want, "tick, job", "job, tick", 1)
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%s: got %s\nwant %s", name, strings.Join(got, ", "), want)
			}
			slices.Sort(soon)
			if strings.Join(soon, ", ") != "immediate, immediate of init, timer" {
				t.Error(name, soon)
			}
		}
	})
}

// Everything that a script prints is in the log in order, with its position.
func TestWhateverPrintsIsInTheLogInOrder(t *testing.T) {
	everyEngineAlways(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `const { error } = console;
exports.ssExports = { init(session) {
  console.log('one\nline', 1);
  console.dir({ a: { b: { c: {} } } }, { depth: 0 });
  console.group('group', 1);
  console.warn('in\nit');
  console.table(1);
  console.groupCollapsed();
  error('deeper');
  console.groupEnd();
  console.dirxml({ a: 1 }, 2);
  console.groupEnd();
  session.getLogger().info('logger');
  process.stdout.write('a\nb');
  console.count();
  process.stderr.write(Buffer.from('no level\n'));
  process.stdout.write('c\n', () => console.log('written'));
  console.assert(true, 'is true'); console.assert(false, 'is %s', 'false');
  console.count('x'); console.countReset('x'); console.count('x');
  console.log();
  console.debug('not written');
  console.info('%s is %d%O', 'x', 1, [2]);
} };`), setup{})
		w.newGame(4)
		w.log.await(t, "written")
		w.wrote(
			"INFO script.js:3 one\nline 1",
			"INFO script.js:4 { a: [Object] }",
			"INFO script.js:5 group 1",
			"WARN script.js:6   in\n  it",
			"INFO script.js:7   1",
			"ERROR script.js:9     deeper",
			"INFO script.js:11   { a: 1 } 2",
			"INFO script.js:13 logger",
			"INFO script.js:14 a",
			"INFO script.js:15 default: 1",
			"ERROR script.js:16 no level",
			"INFO script.js:17 bc",
			"WARN script.js:18 Assertion failed: is false",
			"INFO script.js:19 x: 1",
			"INFO script.js:19 x: 1",
			"INFO script.js:20 ",
			"INFO script.js:22 x is 1[ 2 ]",
			"INFO script.js:17 written",
		)
		if w.log.has("(stdout)") || w.log.has("(stderr)") {
			t.Errorf("past the log:\n%s", w.log)
		}
	})
}

// A line without a line break is logged when the script ends.
func TestALineThatIsNotEndedIsLoggedAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end  string
		want []string
	}{
		"exits":         {"process.exit(0)", []string{"INFO script.js:4 it ends", "ERROR script.js:4 oh"}},
		"is terminated": {"console.log('goes on')", []string{"INFO script.js:4 goes on", "INFO script:0 it ends here", "ERROR script:0 oh"}},
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				w := start(t, e, one(t, `exports.ssExports = { init() {},
  onMessage() {
    process.stderr.write('oh'); process.stdout.write('it '); process.stdout.write('ends');
    `+c.end+`;
  },
  onProcessTerminate() { process.stdout.write(' here'); } };`), setup{})
				game := w.newGame(4)
				w.say(w.join(game, "ann"), 1, "")
				if name == "is terminated" {
					w.log.await(t, "goes on")
					w.terminate(game)
				}
				w.log.awaitEnd(t)
				var got []string
				for _, l := range w.log.all() {
					if l.File != script.HostFile && l.Level != script.LevelWarn { // a warning about a long call, on a busy machine
						got = append(got, fmt.Sprintf("%s %s:%d %s", l.Level, l.File, l.Row, l.Text))
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestConsoleTime(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `exports.ssExports = { init() {
  console.time('x');
  console.timeLog('x', 'more'); console.timeEnd('x');
} };`), setup{})
		w.newGame(4)
		got := strings.Join(w.lines(), "\n")
		if !regexp.MustCompile(`^INFO script.js:3 x: [\d.]+ms more\nINFO script.js:3 x: [\d.]+ms$`).MatchString(got) {
			t.Error(got)
		}
	})
}

// Stacks in the log do not contain the host's own functions.
func TestStacksInTheLogAreTheScripts(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `const failed = what => new Error(what + ' failed');
let session;
console.error(failed('top'));
exports.ssExports = {
  init(s) {
    session = s;
    session.getLogger().error(failed('init'));
    console.trace('of init');
  },
  onStartGameSession() {
    setTimeout(function tick() { console.log({ nested: failed('timer') }); }, 1);
    Promise.resolve().then(function job() { console.log(failed('job').stack); });
  },
  onMessage() {
    try { require('./missing'); } catch (error) { console.warn(error); }
    [1].forEach(function each() { throw failed('message'); });
  },
};`), setup{Node: "24.x"})
		game := w.newGame(4)
		ann := w.join(game, "ann")
		w.say(ann, 1, "")
		frame := func(level string, row, thrown int, text string) {
			t.Helper()
			line := w.log.await(t, text)
			if got := line.Level.String(); got != level || line.File != "script.js" || line.Row != row {
				t.Errorf("%s: [%s] (%s) %d", text, got, line.File, line.Row)
			}
			if at := fmt.Sprintf("script.js:%d:", thrown); !strings.Contains(line.Text, at) {
				t.Errorf("%s: without %s: %s", text, at, line.Text)
			}
		}
		frame("ERROR", 3, 3, "top failed")
		frame("ERROR", 7, 7, "init failed")
		frame("ERROR", 8, 8, "Trace: of init")
		frame("INFO", 11, 11, "timer failed")
		frame("INFO", 12, 12, "job failed")
		frame("WARN", 15, 15, "Cannot find module './missing'")
		frame("ERROR", 1, 16, "message failed")
		for _, l := range w.log.all() {
			if strings.Contains(l.Text, "troupe") || strings.Contains(l.Text, "node:internal/timers") {
				t.Errorf("the host is in a stack: %v", l)
			}
		}
	})
}

// The error about a missing module has the position of the require call.
func TestAMissingModuleHasAPlace(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, "let x;\nexports.ssExports = { init() {}, onMessage() {\n  x = require('./missing');\n} };"), setup{})
		w.say(w.join(w.newGame(4), "ann"), 1, "")
		line := w.log.await(t, "Cannot find module './missing'")
		if line.File != "script.js" || line.Row != 3 || strings.Count(line.Text, "\n- ") != 1 || !strings.Contains(line.Text, "Require stack:\n- /local/game/script.js\n") {
			t.Errorf("(%s) %d: %s", line.File, line.Row, line.Text)
		}
	})
}

func TestOrderOfWhatAReconnectIsToldOf(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `exports.ssExports = { init() {}, onPlayerReconnected(id, info) { console.log(Object.keys(info).join()); } };`), setup{})
		seat := w.seat(w.newGame(4), "ann")
		w.login(seat, stock.Options{NoUDP: true}).Kill()
		w.login(seat, stock.Options{NoUDP: true})
		w.log.await(t, "resent,lost,awayMs,takeover")
	})
}
