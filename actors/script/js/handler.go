package js

import (
	"errors"
	"fmt"
	"path"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/engine"
	"troupe/actors/script/js/modules"
	"troupe/actors/script/watchdog"
)

// callWatchdog watches the calls of all runtimes of the process. Tests that run scripts in synctest bubbles
// must therefore not be parallel.
var callWatchdog watchdog.Watchdog

// Relieve ends game sessions while the process holds far more memory than its scripts are measured to hold
// (watchdog.Process). The scripts that have allocated most end first. Call end to stop it. It is for hosts
// that have a process of their own. Both functions are safe for concurrent use.
func Relieve(p watchdog.Process) (end func()) { return callWatchdog.Relieve(p) }

// Handler is the game logic of one game session: a runtime with its script. All fields except the atomic ones
// belong to the game session's actor.
type Handler struct {
	// Fields that every call uses come first, close together for the CPU cache.
	watch       *watchdog.Watch // nil before Init
	vm          *goja.Runtime   // nil before Init
	session     script.Session  // nil before Init
	arguments   arguments
	what        string // name of the running call
	tick        time.Duration
	dead        bool                    // no script code runs any more
	running     bool                    // a call is running
	written     *written                // state of the JSON.stringify that is running
	replacer    goja.Value              // the replacer of all calls of JSON.stringify; nil before the first one
	joining     []*goja.Object          // lists that the running join calls are joining
	classes     map[string]*goja.Object // built-in classes that the host has used (Handler.class)
	newBytes    engine.Construct        // makes an Uint8Array without the guards; set with its class
	buffer      [1]goja.Value           // the argument of newBytes
	calls       engine.Calls
	natives     int                            // current depth of nested built-ins
	overflows   bool                           // overflow is creating its error
	steps       *engine.Steps                  // of the iterators of arrays; nil before the first one
	objects     *goja.Object                   // the prototype of literals; nil before plainJSON was called
	arrays      *goja.Object                   // the prototype of arrays, likewise
	interrupted atomic.Bool                    // the watchdog has interrupted the call
	stopping    atomic.Pointer[watchdog.Watch] // the same as watch, for Stop; nil before Init
	stopped     atomic.Bool                    // Stop was called
	givenUp     atomic.Bool                    // the watchdog has abandoned the running call, which will not return
	ticks       []func()                       // functions queued by process.nextTick
	rejections  []*goja.Promise                // rejected promises without a handler
	decided     []decision                     // decisions that promises have made during this call
	jobs        jobs
	timers      timers

	program        *Program
	process        script.Process
	loader         *modules.Loader
	glue           glue
	host           *goja.Object
	guardedObjects []string // names that guardObject has handled
	regexps        *regexps // nil until the script uses regular expressions
	configuration  script.Configuration

	interruptedAt struct {
		place
		stack string
	}
	end       string       // why the script is dead
	tickFlag  *goja.Object // host.ticks
	slow      script.SlowCalls
	questions script.Questions // pending questions that promises of the script will answer
}

var (
	_ script.Handler = (*Handler)(nil)
	_ script.Closer  = (*Handler)(nil)
	_ script.Stopper = (*Handler)(nil)
)

func newHandler(p *Program, process script.Process) *Handler {
	h := &Handler{program: p, process: process, tick: p.limits.Tick}
	h.timers.h, h.arguments.h = h, h
	return h
}

func (h *Handler) Init(s script.Session) error {
	h.session = s
	if err := h.open(); err != nil {
		return err
	}
	if err := h.first("loading "+h.program.entry, h.load); err != nil {
		return err
	}
	return h.first("init", func() error {
		h.configuration = configurationOf(h.glue.configuration.of().(*goja.Object))
		if h.glue.init.of().String() != "" {
			return errLogged
		}
		return nil
	})
}

// open creates the runtime and registers it with the watchdog.
func (h *Handler) open() error {
	if h.process.HandOver != nil {
		h.process.HandOver() // creating a runtime takes one or two milliseconds
	}
	if err := h.boot(); err != nil {
		return err
	}
	h.watch = callWatchdog.Watch(watchdog.Options{
		Limit: h.program.limits.Callback, MemoryMax: h.program.limits.MemoryMax, Held: h.held,
		Interrupt: h.interrupt, Stuck: h.stuck, Long: h.process.HandOver, Slow: h.stillRuns, Ask: h.beMeasured,
	})
	h.stopping.Store(h.watch)
	return nil
}

// first makes one of the two calls that start a script: loading and init.
func (h *Handler) first(what string, f func() error) error {
	var failed error
	_, err := h.call(what, h.glue.run.call, func(a *arguments) {
		a.add(h.vm.ToValue(func(goja.FunctionCall) goja.Value {
			var thrown *goja.Exception
			if failed = f(); errors.As(failed, &thrown) {
				panic(thrown)
			}
			return goja.Undefined()
		}))
	})
	if err == nil {
		err = failed
	}
	switch {
	case err == nil:
		return nil
	case h.dead: // already logged, unless the script called process.exit
		return fmt.Errorf("%s: the script has ended: %s", what, h.end)
	case errors.Is(err, errLogged):
		return fmt.Errorf("%s failed", what)
	case err != failed: // call has logged it
		return err
	}
	err = fmt.Errorf("%s: %w", what, err)
	h.process.Log.At(script.LevelError, path.Base(h.program.entry), 0, err.Error())
	return err
}

var errLogged = errors.New("see the log") // an error that is already logged

const stopLimit = 300 * time.Millisecond // how long a call may still run after Stop

func (h *Handler) Stop(reason string) {
	h.stopped.Store(true)
	if w := h.stopping.Load(); w != nil {
		w.EndWithin(stopLimit, reason)
	}
}

// Close implements script.Closer. An abandoned call may still be running; then Close uses none of the fields
// that the call may write.
func (h *Handler) Close() {
	if h.watch != nil {
		h.watch.Release()
		if !h.givenUp.Load() {
			h.loader.Flush()
		}
	}
}

// held estimates how many bytes the runtime holds, for the watchdog. It stops soon after the estimate exceeds
// limit.
func (h *Handler) held(limit int64) int64 {
	others := []any{h.ticks, h.timers.immediates}
	for _, t := range h.timers.queue {
		others = append(others, t.object)
	}
	if h.steps != nil {
		others = append(others, h.steps.Result())
	}
	return engine.Held(limit, h.vm, others...)
}

const memoryLook = "a look at its memory" // name of an empty call: the watchdog measures memory only during calls

// beMeasured makes an empty call, so that the watchdog can measure the memory of the script. The watchdog
// calls beMeasured.
func (h *Handler) beMeasured() {
	h.session.Do(func() {
		_, _ = h.call(memoryLook, func(goja.FunctionCall) goja.Value { return goja.Undefined() }, nil)
	})
}

// ask calls a callback. It returns nil if the callback did not return. It logs errors.
func (h *Handler) ask(c *callback, fill func(*arguments)) goja.Value {
	v, err := h.call(c.name, c.call, fill)
	if err != nil {
		return nil
	}
	return v
}

func (h *Handler) gate(c *callback, fill func(*arguments)) script.Decision {
	v := h.ask(c, fill)
	return script.AllowIf(v != nil && v.ToBoolean())
}

// later is gate for a callback that may return a promise, which then decides.
func (h *Handler) later(c *callback, fill func(*arguments)) script.Decision {
	token, p := h.questions.Ask()
	v := h.ask(c, func(a *arguments) {
		a.add(h.vm.ToValue(token))
		if fill != nil {
			fill(a)
		}
	})
	if v != nil && goja.IsUndefined(v) {
		return script.Later(p)
	}
	ok := v != nil && v.ToBoolean()
	h.questions.Answer(token, ok)
	return script.AllowIf(ok)
}

// decision is the result of a promise: the answer to the question with this token.
type decision struct {
	token uint32
	ok    bool
}

// decideAll delivers the decisions after the call, because an answer may lead to further calls.
func (h *Handler) decideAll() {
	list := h.decided
	h.decided = nil
	for _, d := range list {
		h.questions.Answer(d.token, d.ok)
	}
}
