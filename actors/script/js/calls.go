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

// call calls a function of the script, or of the host inside a call. It is the only way into the script: all that may run its code, such as making
// arguments or printing what it threw, happens here, where the watchdog watches. When call returns, ticks and promise jobs have run and decisions
// are made. An error is what the script did not catch; it is logged.
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

var errDead = errors.New("the script has ended") // the error of calls after the script's end. The end is logged already.

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

// attempt returns what f has thrown, what no script can catch, or a panic of the engine.
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

// framed attempts f inside a function of the glue: after each outermost function, the engine would run all promise jobs.
func (h *Handler) framed(f func()) error {
	return h.attempt(func() {
		h.glue.run.of(h.vm.ToValue(func(goja.FunctionCall) goja.Value { f(); return goja.Undefined() }))
	})
}

// jobs are promise jobs that wait. The engine drops all of them when one overflows the stack, so they are taken from it.
type jobs struct {
	queue *[]func() // the engine's
	taken []func()  // from it; they come first
}

func (j *jobs) waiting() bool { return len(j.taken) > 0 || len(*j.queue) > 0 }

// next takes the next job. There must be one.
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

// runJobs runs ticks and promise jobs in the order of Node.js: ticks, all jobs, the ticks that these have added; then rejections.
func (h *Handler) runJobs(what string) {
	step := func(err error) {
		if err != nil {
			_ = h.judge(what, err)
		}
	}
	for h.alive() {
		if len(h.ticks) > 0 {
			step(h.framed(h.drain))
			continue // one may have failed, and others still wait
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

// pause lets other game sessions run if this call takes long, and ends recursion that is too deep. The script's code calls it in each turn of a loop and
// at the start of each function (compile.Unit.Program).
func (h *Handler) pause() {
	if h.calls.Depth() >= callDepthMax {
		h.overflow()
	}
	if h.watch != nil {
		h.watch.Pause()
	}
}

// alive reports whether more of the script may run.
func (h *Handler) alive() bool { return !h.dead && !h.interrupted.Load() }

// nextTick is process.nextTick: ticks come before promise jobs.
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

// judge logs an error, and returns one that no code of the script is needed to print.
func (h *Handler) judge(what string, err error) error {
	var thrown *goja.Exception
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	switch {
	case err == nil:
		return nil
	case h.dead: // process.exit
		return errDead
	case errors.As(err, &interrupted): // by the watchdog; overdue logs it
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

// overdue ends the script after a call that the watchdog interrupted.
func (h *Handler) overdue(what string, verdict watchdog.Verdict) {
	if verdict == watchdog.Stuck {
		// The game session was given up while the call ran, and another goroutine has taken over its work.
		select {}
	}
	h.running = false
	reason := h.watch.Reason()
	if what != memoryLook {
		reason = what + " was interrupted: " + reason
	}
	at := h.interruptedAt.place
	if at.row == 0 { // the engine loses the place when it leaves a generator
		at = h.began()
	}
	h.process.Log.At(script.LevelError, cmp.Or(at.file, "script"), at.row, reason+h.interruptedAt.stack)
	if h.stopped.Load() { // the game session ends anyway
		h.stop(reason)
		return
	}
	h.crash(reason)
}

// stillRuns warns of a call that has run for watchdog.SlowAfter, with its place.
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

// crash ends the game session as one whose process failed.
func (h *Handler) crash(reason string) {
	if h.session != nil {
		h.session.Crash(reason)
	}
	h.stop(reason)
}

// stop ends the script: none of its code runs any more.
func (h *Handler) stop(reason string) {
	if !h.dead {
		h.dead, h.end = true, reason
	}
	h.vm.Interrupt(reason)
}

// exit is process.exit: it ends the script inside the function, and no catch or finally runs (realtime.md 15.4).
func (h *Handler) exit(code int) {
	h.loader.Flush()
	if h.session != nil {
		h.session.Exit(code)
	}
	h.stop("process.exit")
}

// began returns the place of the callback that runs, or where its timer was set.
func (h *Handler) began() place {
	if h.what == "timer" {
		return h.timers.at
	}
	return h.program.places[h.what]
}

// interrupt and stuck are for the watchdog, which calls them on its own goroutine.
func (h *Handler) interrupt(reason string) {
	h.process.Counters.ScriptInterrupts.Add(1)
	h.interrupted.Store(true)
	h.vm.Interrupt(reason)
}

func (h *Handler) stuck(reason string) {
	h.givenUp.Store(true)
	h.process.Counters.ScriptsStuck.Add(1)
	// The call still runs: only fields that it does not write may be read.
	at := h.began()
	reason = h.what + ": " + reason + ", and cannot be ended: it is in a built-in"
	h.process.Log.At(script.LevelError, cmp.Or(at.file, "script"), at.row, reason)
	if h.process.Stuck != nil {
		h.process.Stuck(reason)
	}
}
