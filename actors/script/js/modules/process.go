package modules

import (
	"runtime/metrics"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

func processBinding(l *Loader) map[string]any {
	r, o := l.runtime, &l.options
	argv := []any{"/usr/local/bin/node", compile.Root + "/" + o.Entry}
	for _, a := range o.Args {
		argv = append(argv, a)
	}
	environment := r.NewObject()
	for k, v := range o.Env {
		must(environment.Set(k, v))
	}
	return map[string]any{
		"argv": r.NewArray(argv...), "env": environment, "root": compile.Root, "pid": 1,
		"version": l.version(), "mainModule": l.main, "write": native(l.write),
		"hrtime": native(func(goja.FunctionCall) goja.Value {
			n := time.Since(l.start).Nanoseconds() + hrtimeStart
			return r.NewArray(n/1e9, n%1e9)
		}),
		"uptime": native(func(goja.FunctionCall) goja.Value { return r.ToValue(time.Since(l.start).Seconds()) }),
		"memory": native(func(goja.FunctionCall) goja.Value {
			s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}} // runtime.ReadMemStats would stop the whole process
			metrics.Read(s)
			return r.ToValue(float64(s[0].Value.Uint64()))
		}),
		"exit": native(func(c goja.FunctionCall) goja.Value {
			o.Exit(int(int32(c.Argument(0).ToInteger())))
			return goja.Undefined()
		}),
		"nextTick": native(func(c goja.FunctionCall) goja.Value {
			f, _ := goja.AssertFunction(c.Argument(0))
			o.NextTick(func() { l.job(f) })
			return goja.Undefined()
		}),
	}
}

func jobsBinding(l *Loader) map[string]any {
	return map[string]any{"uncaught": native(func(c goja.FunctionCall) goja.Value { l.options.Uncaught(c.Argument(0)); return goja.Undefined() })}
}

const hrtimeStart = 1_000_000_000 // value of the first process.hrtime, in nanoseconds, because scripts may take zero to mean "not set"

// job runs a tick.
func (l *Loader) job(f goja.Callable) {
	_, err := f(goja.Undefined())
	if e, ok := err.(*goja.Exception); ok {
		l.options.Uncaught(e.Value())
	} else if err != nil {
		rethrow(l.runtime, err)
	}
}

func (l *Loader) version() string {
	if l.options.Unit.NodeVersion() == "24.x" {
		return "v24.0.0"
	}
	return "v10.24.1"
}

// Emit emits an event on the process object. heard reports whether there are listeners.
func (l *Loader) Emit(event string, args ...goja.Value) (heard bool, err error) {
	module, ok := l.builtin["process"]
	if !ok {
		return false, nil
	}
	process := module.Get("exports").ToObject(l.runtime)
	emit, ok := goja.AssertFunction(process.Get("emit"))
	if !ok {
		return false, nil
	}
	v, err := emit(process, append([]goja.Value{l.runtime.ToValue(event)}, args...)...)
	if err != nil {
		return true, err
	}
	return v.ToBoolean(), nil
}
