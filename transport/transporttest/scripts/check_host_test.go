package scripts

import (
	"strings"
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js"
	"troupe/actors/script/node"
	"troupe/messages"
	"troupe/messages/counters"
)

// examined is a handler that checks its health when it receives a message with op code 999. The host checks
// it every minute.
type examined struct {
	script.Handler
	healthy chan bool
}

func (x *examined) OnMessage(m *script.Message) {
	if m.OpCode != 999 {
		x.Handler.OnMessage(m)
		return
	}
	d := x.OnHealthCheck()
	if p := d.Pending(); p != nil {
		p.Then(func(ok bool) { x.healthy <- ok })
		return
	}
	ok, _ := d.Now()
	x.healthy <- ok
}

func (x *examined) Close() {
	if c, ok := x.Handler.(script.Closer); ok {
		c.Close()
	}
}

// examinedLoader is an examined handler that implements script.Loader.
type examinedLoader struct{ *examined }

func (x examinedLoader) Load(s script.Session) *script.Pending {
	return x.Handler.(script.Loader).Load(s)
}

func examine(h script.Handler, healthy chan bool) script.Handler {
	x := &examined{h, healthy}
	if _, ok := h.(script.Loader); ok {
		return examinedLoader{x}
	}
	return x
}

// startExamined is start with a program of the test, which wraps the handlers of the script.
func startExamined(t *testing.T, e engine, path string, healthy chan bool) *world {
	t.Helper()
	if e.shared {
		path = shared(t, path)
	}
	b, err := bundle.FromPath(path, bundle.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b.Version, b.NodeVersion = "1", messages.NodeVersion10
	var program script.Program
	if e.name == bundle.EngineNode {
		program, err = node.New(b, "script.js", actorstest.ScriptLimits(), node.Options{})
	} else {
		program, err = js.New(b, "script.js", actorstest.ScriptLimits())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(program.Close)
	return startWith(t, nil, func(f *messages.Fleet) script.Handler {
		h, err := program.NewHandler(script.Process{Fleet: f, Counters: new(counters.Set)})
		if err != nil {
			panic(err)
		}
		return examine(h, healthy)
	})
}

// How the host reacts to three failed checks, a minute apart, is tested in actors/gamesession in virtual
// time.
// RT-74.
func TestHealthCheck(t *testing.T) {
	for name, c := range map[string]struct {
		callback string
		healthy  bool
	}{
		"missing": {"", true}, "true": {"onHealthCheck: () => true,", true}, "a promise of true": {"onHealthCheck: async () => 1,", true},
		"false": {"onHealthCheck: () => false,", false}, "undefined": {"onHealthCheck: () => {},", false},
		"throws": {"onHealthCheck: () => { throw new Error('sick'); },", false}, "rejects": {"onHealthCheck: async () => { throw new Error('sick'); },", false},
		"a promise of false": {"onHealthCheck: () => new Promise((resolve) => setTimeout(resolve, 1, false)),", false},
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				healthy := make(chan bool, 1)
				w := startExamined(t, e, one(t, `exports.ssExports = { `+c.callback+` init: () => {} };`), healthy)
				ann := w.join(w.newGame(2), "ann")
				w.say(ann, 999, "")
				select {
				case ok := <-healthy:
					if ok != c.healthy {
						t.Errorf("healthy: %v", ok)
					}
				case <-w.context().Done():
					t.Error("no answer")
				}
				w.crashes(0)
			})
		})
	}
}

// RT-75.
func TestLogger(t *testing.T) {
	for args, least := range map[string]script.Level{
		"": script.LevelInfo, "a loggingLevel:debug b": script.LevelDebug, "loggingLevel:info": script.LevelInfo, "loggingLevel:WARN": script.LevelWarn,
		"loggingLevel:error": script.LevelError, "loggingLevel:fatal": script.LevelFatal, "loggingLevel:cxfatal": script.LevelCXFatal, "loggingLevel:nonsense": script.LevelInfo,
	} {
		t.Run(args, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				w := start(t, e, one(t, `
					exports.ssExports = {
						init: (session) => {
							const logger = session.getLogger(), same = logger === session.getLogger();
							['debug', 'info', 'warn', 'error', 'fatal', 'cxfatal'].forEach((level) => logger[level]('at', level, { a: [1, { b: 'c' }] }, null, undefined, 1.5, same));
							const { info } = logger;
							info(new Map([[1, 'x']]), new Uint8Array([1, 2]), () => {}, [undefined]);
							console.log('console.log %d', 7);
							console.info('console.info');
							console.warn('console.warn');
							console.error('console.error');
							logger.cxfatal('over');
						},
					};`), setup{Args: args})
				w.newGame(2)
				w.log.await(t, "over")
				at := func(level script.Level, text string, row int) {
					t.Helper()
					found := false
					for _, line := range w.log.all() {
						found = found || line.Level == level && line.Text == text && line.File == "script.js" && line.Row == row
					}
					if found != (level >= least) {
						t.Errorf("level %v, row %d, %q: %v; log:\n%s", level, row, text, found, w.log)
					}
				}
				for level := script.LevelDebug; level <= script.LevelCXFatal; level++ {
					at(level, "at "+strings.ToLower(level.String())+" { a: [ 1, { b: 'c' } ] } null undefined 1.5 true", 5)
				}
				at(script.LevelInfo, "Map(1) { 1 => 'x' } Uint8Array(2) [ 1, 2 ] [Function (anonymous)] [ undefined ]", 7)
				at(script.LevelInfo, "console.log 7", 8)
				at(script.LevelInfo, "console.info", 9)
				at(script.LevelWarn, "console.warn", 10)
				at(script.LevelError, "console.error", 11)
				for _, line := range w.log.all() {
					if line.Level < least {
						t.Errorf("below %v: %v", least, line)
					}
				}
			})
		})
	}
}

// RT-76.
func TestOneAtATimeAndTimersInOrder(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session, inside = 0, overlaps = 0, calls = 0;
			const order = [];
			// exclusive runs f as code that nothing else may interrupt.
			const exclusive = (f) => (...args) => {
				if (inside++) overlaps++;
				calls++;
				for (let i = 0; i < 1e4; i++);
				f(...args);
				inside--;
			};
			const note = (what) => exclusive(() => order.push(what));
			exports.ssExports = {
				init: (s) => { session = s; },
				onPlayerJoinGroup: exclusive(() => {}),
				onSendToGroup: exclusive(() => {}),
				onMessage: exclusive((message) => {
					if (message.opCode !== 2) return;
					setImmediate(() => {
						note('immediate')();
						setTimeout(note('60'), 60);
						setTimeout(note('20'), 20);
						setTimeout(note('40'), 40);
						const cleared = setTimeout(note('cleared'), 30);
						clearTimeout(cleared); clearTimeout(undefined); clearTimeout(null); clearInterval(undefined);
					});
					Promise.resolve().then(note('promise'));
					process.nextTick(note('tick'));
					let turns = 0;
					const interval = setInterval(exclusive(() => {
						if (!order.includes('60')) return;
						order.push('turn');
						if (++turns < 2) return;
						clearInterval(interval);
						session.sendReliableMessage(session.newTextGameMessage(3, -1, order.join(' ') + ', ' + overlaps + ' overlaps'), message.sender);
					}), 25);
					order.push('sync');
				}),
			};`), setup{})
		game := w.newGame(4)
		ann, bob := w.join(game, "ann"), w.join(game, "bob")
		w.say(ann, 2, "")
		for range 20 {
			w.say(bob, 1, "")
		}
		if err := bob.JoinGroup(3); err != nil {
			t.Fatal(err)
		}
		w.heard(ann, 3, "sync tick promise immediate 20 40 60 turn turn, 0 overlaps")
		w.noErrors()
	})
}
