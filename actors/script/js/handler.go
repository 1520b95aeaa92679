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

// callWatchdog watches the calls of all runtimes of the process, so tests with scripts in bubbles of testing/synctest must not be parallel.
var callWatchdog watchdog.Watchdog

// Relieve ends game sessions while the process holds far more memory than its scripts are measured to hold, those first that have allocated most
// (watchdog.Process). Call end to stop that. It is for a host that has the process for itself. Any goroutine may call both.
func Relieve(p watchdog.Process) (end func()) { return callWatchdog.Relieve(p) }

// Handler is the logic of one game session: a runtime with the script in it. All fields but the atomic ones belong to the game session's actor.
type Handler struct {
	// What every call needs comes first, close together for the cache.
	watch       *watchdog.Watch // nil before Init
	vm          *goja.Runtime   // nil before Init
	session     script.Session  // nil before Init
	arguments   arguments
	what        string // the call that runs
	tick        time.Duration
	dead        bool                    // none of the script runs any more
	running     bool                    // a call runs
	written     *written                // of the JSON.stringify that runs
	replacer    goja.Value              // of all JSON.stringify; nil: none was called
	joining     []*goja.Object          // lists that join is in
	classes     map[string]*goja.Object // built-in classes that the host has used
	calls       engine.Calls
	natives     int                            // how many built-ins are inside one another
	overflows   bool                           // the error for an overflow is being made
	iterates    bool                           // the iterators of arrays are guarded
	interrupted atomic.Bool                    // the watchdog has ended the call
	stopping    atomic.Pointer[watchdog.Watch] // for Stop; nil before Init
	stopped     atomic.Bool                    // Stop was called
	givenUp     atomic.Bool                    // the call that runs will not return
	ticks       []func()                       // of process.nextTick
	rejections  []*goja.Promise                // that nobody handles
	decided     []decision                     // by promises during this call
	jobs        jobs
	timers      timers

	program        *Program
	process        script.Process
	loader         *modules.Loader
	glue           glue
	host           *goja.Object
	guardedObjects []string // by guardObject
	regexps        *regexps // nil: not guarded yet
	configuration  script.Configuration

	interruptedAt struct {
		place
		stack string
	}
	end       string       // why the script is dead
	tickFlag  *goja.Object // host.ticks
	slow      script.SlowCalls
	questions script.Questions // that promises will decide
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

// open makes the runtime, and has it watched.
func (h *Handler) open() error {
	if h.process.HandOver != nil {
		h.process.HandOver() // to make a runtime takes a millisecond or two
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

// first makes one of the calls that a start consists of.
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
	case h.dead: // logged already, unless the script called process.exit
		return fmt.Errorf("%s: the script has ended: %s", what, h.end)
	case errors.Is(err, errLogged):
		return fmt.Errorf("%s failed", what)
	case err != failed: // logged
		return err
	}
	err = fmt.Errorf("%s: %w", what, err)
	h.process.Log.At(script.LevelError, path.Base(h.program.entry), 0, err.Error())
	return err
}

var errLogged = errors.New("see the log") // an error that is logged already

const stopLimit = 300 * time.Millisecond // how long a call may still run whose game session is to end at once

func (h *Handler) Stop(reason string) {
	h.stopped.Store(true)
	if w := h.stopping.Load(); w != nil {
		w.EndWithin(stopLimit, reason)
	}
}

// Close implements script.Closer. A call that was given up may still run: then Close touches none of its fields.
func (h *Handler) Close() {
	if h.watch != nil {
		h.watch.Release()
		if !h.givenUp.Load() {
			h.loader.Flush()
		}
	}
}

// held estimates how many bytes the runtime holds, for the watchdog. It stops soon after limit.
func (h *Handler) held(limit int64) int64 {
	others := []any{h.ticks, h.timers.immediates}
	for _, t := range h.timers.queue {
		others = append(others, t.object)
	}
	return engine.Held(limit, h.vm, others...)
}

const memoryLook = "a look at its memory" // a call that does nothing: the watchdog measures during calls

// beMeasured is called by the watchdog.
func (h *Handler) beMeasured() {
	h.session.Do(func() {
		_, _ = h.call(memoryLook, func(goja.FunctionCall) goja.Value { return goja.Undefined() }, nil)
	})
}

// ask calls a callback; nil if it did not return. Errors are logged.
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

// later is gate for a callback whose promise decides.
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

// decision is what a promise has decided.
type decision struct {
	token uint32
	ok    bool
}

// decideAll answers questions after the call: the answers may lead to other calls.
func (h *Handler) decideAll() {
	list := h.decided
	h.decided = nil
	for _, d := range list {
		h.questions.Answer(d.token, d.ok)
	}
}
