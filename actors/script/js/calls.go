package js

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/watchdog"
)

// call calls a function of the script, or a host function that runs inside a call. Every entry into the
// script goes through call, so that the watchdog covers all script code, including code that runs while
// arguments are built or a thrown value is printed. Before call returns, it runs ticks and promise jobs and
// delivers decisions. The error is one that the script did not catch; it is already logged.
func (h *Handler) call(what string, f native, fill func(*arguments)) (v goja.Value, err error) {
	if h.dead {
		return nil, errDead
	}
	if h.running {
		v, err = h.enter(f, fill, &arguments{h: h})
		return v, h.judge(what, err)
	}
	h.running, h.what, h.natives, h.timers.start = true, what, 0, time.Time{}
	h.watch.Begin()
	v, err = h.enter(f, fill, &h.arguments)
	clear(h.arguments.list)
	if err != nil {
		err = h.judge(what, err)
	}
	if h.jobs.waiting() || len(h.ticks) > 0 || len(h.rejections) > 0 {
		h.runJobs(what)
	}
	took, verdict := h.watch.End()
	if verdict != watchdog.InTime {
		h.overdue(what, verdict)
		return nil, errDead
	}
	h.running = false
	if h.tick > 0 && took > h.tick {
		h.slow.Add(&h.process, what, took, h.tick)
	}
	if len(h.decided) > 0 {
		h.decideAll()
	}
	return v, err
}

var errDead = errors.New("the script has ended") // returned by calls after the script has ended; the end is already logged

// enter calls f with the arguments that fill adds.
func (h *Handler) enter(f native, fill func(*arguments), a *arguments) (v goja.Value, err error) {
	err = h.attempt(func() {
		a.list = a.list[:0]
		if fill != nil {
			fill(a)
		}
		v = f(goja.FunctionCall{This: goja.Undefined(), Arguments: a.list})
	})
	return v, err
}

// attempt calls f. It returns an error for a value that f throws, for an interrupt or a stack overflow, and
// for a panic of the engine.
func (h *Handler) attempt(f func()) (err error) {
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		if e, ok := x.(error); ok && isAbrupt(e) {
			err = e
		} else {
			err = fmt.Errorf("the engine failed: %v\n%s", x, debug.Stack())
		}
	}()
	if thrown := h.vm.Try(f); thrown != nil {
		return thrown
	}
	return nil
}

// framed calls f inside a function of the glue. Otherwise the engine would run all promise jobs after each
// outermost function call in f.
func (h *Handler) framed(f func()) error {
	return h.attempt(func() {
		h.glue.run.of(h.vm.ToValue(func(goja.FunctionCall) goja.Value { f(); return goja.Undefined() }))
	})
}

// jobs is the queue of pending promise jobs. The engine drops its whole queue when one job overflows the
// stack, so next moves the jobs to taken.
type jobs struct {
	queue *[]func() // the engine's queue
	taken []func()  // moved from the engine's queue; these jobs run first
}

func (j *jobs) waiting() bool { return len(j.taken) > 0 || len(*j.queue) > 0 }

// next removes and returns the first job. The queue must not be empty.
func (j *jobs) next() func() {
	if len(j.taken) == 0 {
		j.taken, *j.queue = *j.queue, nil
	}
	job := j.taken[0]
	j.taken[0] = nil
	if j.taken = j.taken[1:]; len(j.taken) == 0 {
		j.taken = nil
	}
	return job
}

// runJobs runs ticks and promise jobs in the order of Node.js: all ticks, then all promise jobs, and again
// while there are new ticks. After that it handles one unhandled rejection and starts over.
func (h *Handler) runJobs(what string) {
	step := func(err error) {
		if err != nil {
			_ = h.judge(what, err)
		}
	}
	for h.alive() {
		if len(h.ticks) > 0 {
			step(h.framed(h.drain))
			continue // a tick may have failed while others are still queued
		}
		for h.jobs.waiting() && h.alive() {
			h.pause()
			step(h.attempt(h.jobs.next()))
		}
		switch {
		case len(h.ticks) > 0:
		case len(h.rejections) > 0:
			p := h.rejections[0]
			h.rejections = h.rejections[1:]
			step(h.framed(func() { h.unhandled(p) }))
		default:
			return
		}
	}
}

// pause is the yield point. It lets other game sessions run if this call takes long, and throws if recursion
// is too deep. Script code calls it at every loop iteration and function entry (compile.Unit.Program).
func (h *Handler) pause() {
	if h.calls.Depth() >= callDepthMax {
		h.overflow()
	}
	if h.watch != nil {
		h.watch.Pause()
	}
}

// alive reports whether script code may still run.
func (h *Handler) alive() bool { return !h.dead && !h.interrupted.Load() }

// nextTick implements process.nextTick. Ticks run before promise jobs.
func (h *Handler) nextTick(job func()) {
	if len(h.ticks) == 0 {
		h.waiting(true)
	}
	h.ticks = append(h.ticks, job)
}

func (h *Handler) waiting(is bool) { _ = h.tickFlag.Set("waiting", is) }

func (h *Handler) drain() {
	for len(h.ticks) > 0 && !h.dead {
		job := h.ticks[0]
		h.ticks[0] = nil
		h.ticks = h.ticks[1:]
		h.pause()
		job()
	}
	h.waiting(false)
}

func (h *Handler) afterCallback(goja.FunctionCall) {
	if len(h.ticks) > 0 {
		h.drain()
	}
}

// judge logs an error. It returns an error whose text can be produced without running script code.
func (h *Handler) judge(what string, err error) error {
	var thrown *goja.Exception
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	switch {
	case err == nil:
		return nil
	case h.dead: // process.exit
		return errDead
	case errors.As(err, &interrupted): // by the watchdog; overdue logs the interrupt
		h.interruptedAt.file, h.interruptedAt.row = firstFrame(interrupted.Stack())
		h.interruptedAt.stack = frames(interrupted.Stack())
		return errDead
	case errors.As(err, &thrown):
		failed := h.loadError(what, thrown)
		h.process.Log.At(script.LevelError, cmp.Or(path.Base(failed.File), "script"), failed.Line, failed.Error())
		return failed
	case errors.As(err, &overflow):
		file, row := firstFrame(overflow.Stack())
		h.process.Log.At(script.LevelError, file, row, "Error in "+what+": RangeError: Maximum call stack size exceeded"+frames(overflow.Stack()))
		return fmt.Errorf("%s: RangeError: Maximum call stack size exceeded", what)
	}
	h.process.Log.At(script.LevelError, "script", 0, "Error in "+what+": "+err.Error())
	return err
}

// overdue ends the script after the watchdog has interrupted a call.
func (h *Handler) overdue(what string, verdict watchdog.Verdict) {
	if verdict == watchdog.Stuck {
		// The watchdog abandoned this call, and another goroutine has taken over the actor's work. This
		// goroutine must never continue.
		select {}
	}
	h.running = false
	reason := h.watch.Reason()
	if what != memoryLook {
		reason = what + " was interrupted: " + reason
	}
	at := h.interruptedAt.place
	if at.row == 0 { // the engine loses the position when it unwinds a generator
		at = h.began()
	}
	h.process.Log.At(script.LevelError, cmp.Or(at.file, "script"), at.row, reason+h.interruptedAt.stack)
	if h.stopped.Load() { // the game session is already ending
		h.stop(reason)
		return
	}
	h.crash(reason)
}

// stillRuns logs a warning, with the current position, about a call that has run for watchdog.SlowAfter.
func (h *Handler) stillRuns() {
	file, row := firstFrame(h.vm.CaptureCallStack(0, nil))
	text := fmt.Sprintf("%s still runs after %v", h.what, watchdog.SlowAfter)
	if row > 0 {
		text += fmt.Sprintf(", at %s:%d", file, row)
	}
	if h.program.limits.Callback > 0 {
		text += fmt.Sprintf(": is that an endless loop? It is ended after %v (script.callback)", h.program.limits.Callback)
	}
	h.process.Log.At(script.LevelWarn, file, row, text)
}

// crash ends the game session as if its process had crashed.
func (h *Handler) crash(reason string) {
	if h.session != nil {
		h.session.Crash(reason)
	}
	h.stop(reason)
}

// stop ends the script. No script code runs after it.
func (h *Handler) stop(reason string) {
	if !h.dead {
		h.dead, h.end = true, reason
	}
	h.vm.Interrupt(reason)
}

// exit implements process.exit. It ends the script at once: no catch or finally block runs (realtime.md
// 15.4).
func (h *Handler) exit(code int) {
	h.loader.Flush()
	if h.session != nil {
		h.session.Exit(code)
	}
	h.stop("process.exit")
}

// began returns where the running callback begins in the source. For a timer, it returns where the timer was
// set.
func (h *Handler) began() place {
	if h.what == "timer" {
		return h.timers.at
	}
	return h.program.places[h.what]
}

// The watchdog calls interrupt and stuck on its own goroutine.
func (h *Handler) interrupt(reason string) {
	h.process.Counters.ScriptInterrupts.Add(1)
	h.interrupted.Store(true)
	h.vm.Interrupt(reason)
}

func (h *Handler) stuck(reason string) {
	h.givenUp.Store(true)
	h.process.Counters.ScriptsStuck.Add(1)
	// The call is still running, so only fields that it does not write may be read.
	at := h.began()
	reason = h.what + ": " + reason + ", and cannot be ended: it is in a built-in"
	h.process.Log.At(script.LevelError, cmp.Or(at.file, "script"), at.row, reason)
	if h.process.Stuck != nil {
		h.process.Stuck(reason)
	}
}
