package scripts

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// crashes waits until exactly want processes have ended with an error.
func (w *world) crashes(want int64) {
	w.Helper()
	w.until("crashes", func() error {
		if n := w.host.Counters().ScriptCrashes.Load(); n != want {
			return fmt.Errorf("%d, want %d; log:\n%s", n, want, w.log)
		}
		return nil
	})
}

// RT-70.
func TestProcessEndingAndExit(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session, ending;
			exports.ssExports = {
				init: (s) => { session = s; },
				onMessage: async (message) => {
					const say = (op, text) => session.sendReliableGroupMessage(session.newTextGameMessage(op, -1, text), -1);
					if (message.opCode === 1) {
						ending = session.processEnding();
						const again = await session.processEnding();
						const first = await ending;
						say(2, [first.Success, first.Error, String(first), again === first].join(' '));
					} else {
						say(3, 'before the end');
						try { process.exit(0); } finally { say(4, 'in finally'); }
						say(4, 'after exit');
					}
				},
				onPlayerDisconnect: (id) => console.log('disconnect of ' + id),
			};`), setup{})
		game := w.newGame(4)
		ann, bob := w.join(game, "ann"), w.join(game, "bob")
		late := w.seat(game, "late")
		w.say(ann, 1, "")
		for _, c := range []*stock.Client{ann, bob} {
			w.heard(c, 2, "true  true true")
		}
		if r, err := w.dial(late, stock.Options{NoUDP: true}).AwaitLogin(w.context()); err == nil {
			t.Errorf("a login after processEnding: %+v", r)
		}
		w.say(bob, 9, "")
		for _, c := range []*stock.Client{ann, bob} {
			w.heard(c, 3, "before the end")
			w.awaitClose(c)
			for _, e := range c.Log() {
				if e.OpCode == 4 {
					t.Errorf("code ran after process.exit: %q", e.Payload)
				}
			}
		}
		w.awaitStatus(game, types.GameSessionStatusTerminated)
		if w.log.has("disconnect of") {
			t.Error("onPlayerDisconnect was called after exit (D-119)")
		}
		w.crashes(0)
		// The process is replaced, so another game session can start.
		w.join(w.newGame(4), "ann")
	})
}

// RT-71.
func TestForgottenExit(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onMessage: () => session.processEnding().then(() => session.sendReliableGroupMessage(session.newTextGameMessage(2, -1, ''), -1)),
			};`), setup{})
		game := w.newGame(4)
		ann := w.join(game, "ann")
		w.say(ann, 1, "")
		w.hear(ann, 2)
		began := time.Now()
		w.awaitClose(ann)
		if d := time.Since(began); e.virtual() && d != 10*time.Second {
			t.Errorf("ended by the host after %v", d)
		}
		w.awaitStatus(game, types.GameSessionStatusTerminated)
		w.crashes(0)
	})
}

// RT-72.
func TestLastWordsInOnProcessTerminate(t *testing.T) {
	for name, body := range map[string]string{
		"sends":           `session.getPlayers().forEach((p, id) => session.sendReliableMessage(words, id));`,
		"sends and ends":  `session.sendReliableGroupMessage(words, -1); session.processEnding();`,
		"sends and exits": `session.sendReliableGroupMessage(words, -1); session.processEnding(); process.exit(0);`,
		"sends, throws":   `session.sendReliableGroupMessage(words, -1); throw new Error('in the last words');`,
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				w := start(t, e, one(t, `
					let session;
					exports.ssExports = {
						init: (s) => { session = s; },
						onProcessTerminate: () => {
							const words = session.newTextGameMessage(2, -1, session.getPlayers().size + ' are here');
							`+body+`
						},
						onPlayerDisconnect: () => console.log('disconnect'),
					};`), setup{})
				game := w.newGame(4)
				ann, bob := w.join(game, "ann"), w.join(game, "bob")
				w.host.Close()
				for _, c := range []*stock.Client{ann, bob} {
					w.heard(c, 2, "2 are here")
					w.awaitClose(c)
				}
				if w.log.has("disconnect") {
					t.Error("onPlayerDisconnect was called (D-119)")
				}
			})
		})
	}
}

// RT-73.
func TestCrashesAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		said string // text in the log
	}{
		"exit without processEnding": {`process.exit(0);`, ""},
		"exit with an error":         {`session.processEnding(); process.exit(3);`, ""},
		"uncaught in a timer":        {`setTimeout(() => { throw new Error('in a timer'); }, 1);`, "in a timer"},
		"uncaught in setImmediate":   {`setImmediate(() => { null.x; });`, "TypeError"},
		"uncaught in nextTick":       {`process.nextTick(() => { throw new RangeError('in a tick'); });`, "in a tick"},
		"uncaught in an interval":    {`setInterval(function repeated() { throw new Error('again'); }, 1);`, "repeated"},
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				w := start(t, e, one(t, `
					let session;
					exports.ssExports = { init: (s) => { session = s; }, onMessage: () => { `+c.body+` } };`), setup{})
				game := w.newGame(4)
				ann := w.join(game, "ann")
				w.say(ann, 1, "")
				w.awaitClose(ann)
				w.awaitStatus(game, types.GameSessionStatusTerminated)
				w.crashes(1)
				if c.said != "" {
					w.log.await(t, c.said)
				}
			})
		})
	}
}

// An exception in a callback is not a crash (realtime.md 18.3). With keepRunningOnError, an exception
// elsewhere is not a crash either (D-125).
// RT-73.
func TestWhatIsNoCrash(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onMessage: (message) => {
					if (message.opCode === 1) throw new Error('in a callback');
					if (message.opCode === 2) setTimeout(() => { throw new Error('in a timer'); }, 1);
					if (message.opCode === 3) session.sendReliableMessage(session.newTextGameMessage(4, -1, 'alive'), message.sender);
				},
			};`), setup{Config: func(c *host.Config) { c.Script.KeepRunningOnError = true }})
		ann := w.join(w.newGame(4), "ann")
		w.say(ann, 1, "")
		w.say(ann, 2, "")
		w.log.await(t, "in a timer")
		w.log.await(t, "in a callback")
		w.say(ann, 3, "")
		w.heard(ann, 4, "alive")
		w.crashes(0)
	})
}

// RT-78.
func TestUnhandledRejections(t *testing.T) {
	const text = `
		let session;
		exports.ssExports = {
			init: (s) => { session = s; },
			onMessage: (message) => {
				if (message.opCode === 1) Promise.reject(new Error('nobody handles this'));
				if (message.opCode === 2) (async () => { throw new Error('this is handled'); })().catch(() => {});
				if (message.opCode === 3) session.sendReliableMessage(session.newTextGameMessage(4, -1, 'alive'), message.sender);
			},
		};`
	t.Run("10.x", func(t *testing.T) {
		everyEngine(t, func(t *testing.T, e engine) {
			w := start(t, e, one(t, text), setup{})
			ann := w.join(w.newGame(4), "ann")
			w.say(ann, 2, "")
			w.say(ann, 1, "")
			if line := w.log.await(t, "nobody handles this"); line.Level != script.LevelWarn {
				t.Errorf("logged as %v", line)
			}
			w.say(ann, 3, "")
			w.heard(ann, 4, "alive")
			w.crashes(0)
			if w.log.has("this is handled") {
				t.Error("a handled rejection is reported")
			}
		})
	})
	t.Run("24.x", func(t *testing.T) {
		everyEngine(t, func(t *testing.T, e engine) {
			w := start(t, e, one(t, text), setup{Node: "24.x"})
			game := w.newGame(4)
			ann := w.join(game, "ann")
			w.say(ann, 2, "")
			w.say(ann, 3, "")
			w.heard(ann, 4, "alive")
			w.say(ann, 1, "")
			w.awaitClose(ann)
			w.awaitStatus(game, types.GameSessionStatusTerminated)
			w.log.await(t, "nobody handles this")
			w.crashes(1)
		})
	})
}
