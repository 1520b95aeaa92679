package js

import (
	"github.com/dop251/goja"

	"troupe/actors/script/js/engine"
)

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

// held estimates how many bytes the runtime holds, for the watchdog. It stops soon after limit.
func (h *Handler) held(limit int64) int64 {
	others := []any{h.ticks, h.timers.immediates}
	for _, t := range h.timers.queue {
		others = append(others, t.object)
	}
	return engine.Held(limit, h.vm, others...)
}

// memoryLook is a call that does nothing: the watchdog measures during calls.
const memoryLook = "a look at its memory"

// beMeasured is called by the watchdog.
func (h *Handler) beMeasured() {
	h.session.Do(func() {
		_, _ = h.call(memoryLook, func(goja.FunctionCall) goja.Value { return goja.Undefined() }, nil)
	})
}
