package js

import (
	"reflect"

	"github.com/dop251/goja"
)

// jobs is the engine's queue of promise jobs. The engine would run them itself when its
// outermost function returns, but forgets all of them when one overflows the stack.
type jobs struct {
	queue *[]func() // of the engine, which adds to it
	taken []func()  // from it; they come first
}

func jobsOf(vm *goja.Runtime) jobs {
	return jobs{queue: fieldOf[[]func()](reflect.ValueOf(vm).Elem(), "jobQueue")}
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
