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
	"troupe/messages/counters"
)

// callWatchdog watches the calls of all runtimes of the process. So tests in bubbles of testing/synctest with scripts must not be parallel.
var callWatchdog watchdog.Watchdog

// Relieve has game sessions end while the process holds far more memory than is measured of its scripts, those first that have
// allocated most of it (watchdog.Process). The result ends that. It is for a host that has the process for itself, and may be called from any goroutine.
func Relieve(p watchdog.Process) (end func()) { return callWatchdog.Relieve(p) }

// Handler is the logic of one game session: a runtime with the script in it. All
// fields belong to the game session's actor.
type Handler struct {
	// What every call needs, side by side: the memory of a game session among many is
	// seldom in a cache.
	watch     *watchdog.Watch // nil before Init
	vm        *goja.Runtime   // nil before Init
	session   script.Session  // nil before Init
	arguments arguments
	what      string // which call is under way
	tick      time.Duration
	// The booleans do not exclude one another: a call that is running or interrupted goes on while
	// the script is dead, stopped or given up; and the atomic ones are written by other goroutines.
	dead        bool                    // nothing of the script runs any more
	running     bool                    // a call is under way
	written     *written                // by the JSON.stringify under way
	replacer    goja.Value              // of all JSON.stringify; nil: none was called
	joining     []*goja.Object          // lists of which a text is made
	classes     map[string]*goja.Object // built-in ones that the host has used
	calls       engine.Calls
	natives     int                            // built-ins that are inside of one another
	overflows   bool                           // the error for too deep recursion is being made
	iterates    bool                           // the iterators of arrays are counted
	interrupted atomic.Bool                    // by the watchdog
	stopping    atomic.Pointer[watchdog.Watch] // what Stop uses; nil before Init
	stopped     atomic.Bool                    // Stop was called
	givenUp     atomic.Bool                    // a call goes on that will not return
	ticks       []func()                       // of process.nextTick
	rejections  []*goja.Promise                // that nobody handles
	decided     []decision                     // that promises have brought during this call
	jobs        jobs
	timers      timers

	program        *Program
	process        script.Process
	loader         *modules.Loader
	glue           glue
	host           *goja.Object
	guardedObjects []string // of the global ones that are
	regexps        *regexps // nil: no file uses one
	configuration  script.Configuration

	interruptedAt struct {
		place
		stack string
	} // where a call was interrupted
	end       string       // why the script is dead
	tickFlag  *goja.Object // host.ticks: says so to realtime.js
	slow      script.SlowCalls
	questions script.Questions // decisions that promises will bring, by token
}

var (
	_ script.Handler = (*Handler)(nil)
	_ script.Closer  = (*Handler)(nil)
	_ script.Stopper = (*Handler)(nil)
)

func newHandler(p *Program, process script.Process) *Handler {
	if process.Counters == nil {
		process.Counters = new(counters.Set)
	}
	h := &Handler{program: p, process: process, tick: p.limits.Tick}
	h.timers.h, h.arguments.h = h, h
	return h
}

// Init implements script.Handler: it loads the script and calls its init.
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
		h.process.HandOver() // it takes a millisecond or two
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
	case h.dead: // it is logged already, unless the script itself wanted it
		return fmt.Errorf("%s: the script has ended: %s", what, h.end)
	case errors.Is(err, errLogged):
		return fmt.Errorf("%s failed", what)
	case err != failed: // logged, too
		return err
	}
	err = fmt.Errorf("%s: %w", what, err)
	h.process.Log.At(script.LevelError, path.Base(h.program.entry), 0, err.Error())
	return err
}

// errLogged is an error that the log has already.
var errLogged = errors.New("see the log")

// stopLimit is how long a call may go on whose game session is to end at once.
const stopLimit = 300 * time.Millisecond

// Stop implements script.Stopper.
func (h *Handler) Stop(reason string) {
	h.stopped.Store(true)
	if w := h.stopping.Load(); w != nil {
		w.EndWithin(stopLimit, reason)
	}
}

// Close implements script.Closer. It may come while a call that is given up goes on,
// then it touches nothing that is the call's.
func (h *Handler) Close() {
	if h.watch != nil {
		h.watch.Release()
		if !h.givenUp.Load() {
			h.loader.Flush()
		}
	}
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

// later is a gate whose promise is waited for.
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

// decision is what a promise came to.
type decision struct {
	token uint32
	ok    bool
}

// decideAll tells what promises came to, after the call: the host may call back.
func (h *Handler) decideAll() {
	list := h.decided
	h.decided = nil
	for _, d := range list {
		h.questions.Answer(d.token, d.ok)
	}
}
