package js

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/watchdog"
)

// slowWarnEvery is the time between two warnings of slow calls in one log.
const slowWarnEvery = 10 * time.Second

// enginePanic is a panic of the engine itself.
type enginePanic struct {
	value any
	stack []byte
}

func (e *enginePanic) Error() string {
	return fmt.Sprintf("the engine failed: %v\n%s", e.value, e.stack)
}

// call calls a function from outside of the script, or from within if the host calls
// back at once. When it returns, ticks and promise jobs have run, the watchdog has been
// asked, and decisions are made. An error is what no code of the script could catch; it
// is logged.
func (h *Handler) call(what string, f goja.Callable, args ...goja.Value) (v goja.Value, err error) {
	if h.dead {
		return nil, errDead
	}
	if h.running {
		return f(goja.Undefined(), args...)
	}
	h.running, h.what = true, what
	h.watch.Begin()
	h.outermost = true
	v, err = h.protected(f, args)
	h.outermost = false
	if len(h.ticks) > 0 || len(h.rejections) > 0 {
		err = h.settle(err)
	}
	took, verdict := h.watch.End()
	if verdict != watchdog.InTime {
		h.overdue(what, verdict, err)
		return nil, errDead
	}
	h.running = false
	if h.tick > 0 && took > h.tick {
		h.slow(what, took)
	}
	if err != nil {
		err = h.abrupt(what, err)
	}
	if len(h.decided) > 0 {
		h.decideAll()
	}
	return v, err
}

// errDead is the error of calls after the script's end. It is told already.
var errDead = errors.New("the script has ended")

// protected turns a panic of the engine into an error.
func (h *Handler) protected(f goja.Callable, args []goja.Value) (v goja.Value, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case error:
			if isAbrupt(x) { // of a native function called from here
				err = x
				return
			}
			err = &enginePanic{x, debug.Stack()}
		default:
			err = &enginePanic{x, debug.Stack()}
		}
	}()
	return f(goja.Undefined(), args...)
}

// settle runs ticks that promise jobs have left, and decides on rejections once
// nothing else is left to run; not after an interrupt, which err may be.
func (h *Handler) settle(err error) error {
	step := func(goja.Value, ...goja.Value) (goja.Value, error) {
		if len(h.ticks) > 0 {
			h.drain()
		} else {
			p := h.rejections[0]
			h.rejections = h.rejections[1:]
			h.unhandled(p)
		}
		return nil, nil
	}
	var interrupted *goja.InterruptedError
	for !h.dead && !errors.As(err, &interrupted) && (len(h.ticks) > 0 || len(h.rejections) > 0) {
		if _, another := h.protected(step, nil); another != nil {
			err = another
		}
	}
	return err
}

// nextTick is process.nextTick: ticks come before promise jobs, which come before
// anything else.
func (h *Handler) nextTick(job func()) {
	if len(h.ticks) == 0 {
		h.waiting(true)
	}
	h.ticks = append(h.ticks, job)
}

// waiting sets host.ticks.waiting.
func (h *Handler) waiting(is bool) { _ = h.tickFlag.Set("waiting", is) }

func (h *Handler) drain() {
	for len(h.ticks) > 0 && !h.dead {
		job := h.ticks[0]
		h.ticks[0] = nil
		h.ticks = h.ticks[1:]
		job()
	}
	h.waiting(false)
}

// afterCallback is host.afterCallback(): before promise jobs.
func (h *Handler) afterCallback(goja.FunctionCall) goja.Value {
	if len(h.ticks) > 0 {
		h.drain()
	}
	return goja.Undefined()
}

// abrupt judges an error that no code of the script can catch, after a call that was
// in time.
func (h *Handler) abrupt(what string, err error) error {
	var overflow *goja.StackOverflowError
	var failed *enginePanic
	switch {
	case h.dead: // process.exit
		return errDead
	case errors.As(err, &failed):
		h.process.Log.At(script.LevelError, "script", 0, "Error in "+what+": "+failed.Error())
	case errors.As(err, &overflow):
		file, row := firstFrame(overflow.Stack())
		h.process.Log.At(script.LevelError, file, row, "Error in "+what+": RangeError: Maximum call stack size exceeded"+frames(overflow.Stack()))
	default:
		h.process.Log.At(script.LevelError, "script", 0, "Error in "+what+": "+err.Error())
	}
	return err
}

// slow counts a call over the tick budget and says so now and then.
func (h *Handler) slow(what string, took time.Duration) {
	h.process.Counters.ScriptSlowCalls.Add(1)
	h.slowCalls++
	if now := time.Now(); now.Sub(h.slowWarned) >= slowWarnEvery {
		h.process.Log.At(script.LevelWarn, "script", 0, fmt.Sprintf("%s took %v; more than %v holds the game up (%d such calls)", what, took.Round(time.Millisecond), h.tick, h.slowCalls))
		h.slowWarned, h.slowCalls = now, 0
	}
}

// overdue ends the script after a call that the watchdog interrupted.
func (h *Handler) overdue(what string, verdict watchdog.Verdict, err error) {
	if verdict == watchdog.Stuck {
		// The game session was given up while the call ran and others took over what
		// this goroutine had to do. To return would be to work on it twice.
		select {}
	}
	h.running = false
	var interrupted *goja.InterruptedError
	file, row, stack := "script", 0, ""
	if errors.As(err, &interrupted) {
		file, row = firstFrame(interrupted.Stack())
		stack = frames(interrupted.Stack())
	}
	reason := what + " was interrupted: " + h.watch.Reason()
	h.process.Log.At(script.LevelError, file, row, reason+stack)
	h.crash(reason)
}

// crash ends the game session as one whose process failed.
func (h *Handler) crash(reason string) {
	if h.session != nil {
		h.session.Crash(reason)
	}
	h.stop(reason)
}

// stop keeps the script from running on, now and later.
func (h *Handler) stop(reason string) {
	if !h.dead {
		h.dead, h.end = true, reason
	}
	h.vm.Interrupt(reason)
}

// exit is process.exit: nothing of the script runs any more, in the middle of the
// function, and no catch or finally sees it (realtime.md 15.4).
func (h *Handler) exit(code int) {
	if h.session != nil {
		h.session.Exit(code)
	}
	h.stop("process.exit")
}

// interrupt and stuck are called by the watchdog.
func (h *Handler) interrupt(reason string) {
	h.process.Counters.ScriptInterrupts.Add(1)
	h.vm.Interrupt(reason)
}

func (h *Handler) stuck(reason string) {
	h.process.Counters.ScriptsStuck.Add(1)
	// Of the fields only what is read, which no call writes before this one has ended.
	reason = h.what + ": " + reason + ", and cannot be ended: it is in a built-in"
	h.process.Log.At(script.LevelError, "script", 0, reason)
	if h.process.Stuck != nil {
		h.process.Stuck(reason)
	}
}
