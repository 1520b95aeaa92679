package js

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// jobs is the engine's queue of promise jobs. The engine would run them itself when its
// outermost function returns, but forgets all of them when one overflows the stack.
type jobs struct {
	queue *[]func() // of the engine, which adds to it
	taken []func()  // from it; they come first
}

// jobQueueOffset is where a runtime keeps its queue.
var jobQueueOffset = func() uintptr {
	f, ok := reflect.TypeFor[goja.Runtime]().FieldByName("jobQueue")
	if !ok || f.Type != reflect.TypeFor[[]func()]() {
		panic("the engine has no jobQueue")
	}
	return f.Offset
}()

func jobsOf(vm *goja.Runtime) jobs {
	return jobs{queue: (*[]func())(unsafe.Add(unsafe.Pointer(vm), jobQueueOffset))}
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
