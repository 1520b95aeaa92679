package modules

import (
	"reflect"
	"strings"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
)

// binding returns an object with the Go functions that the source of a built-in module calls, or undefined if
// it calls none.
func (l *Loader) binding(source string) goja.Value {
	make, ok := map[string]func(*Loader) map[string]any{
		"inspect": inspectBinding, "inspect_more": inspectBinding, "format": inspectBinding, "equal": inspectBinding, "util_types": inspectBinding, "console": consoleBinding,
		"buffer": bufferBinding, "buffer_more": bytesBinding, "encoding": bytesBinding,
		"process": processBinding, "crypto": cryptoBinding, "fs": fsBinding, "perf_hooks": clockBinding, "microtask": jobsBinding, "url": urlBinding,
	}[source]
	if !ok {
		return goja.Undefined()
	}
	return l.runtime.NewDynamicObject(&binding{loader: l, make: make})
}

// Sealed is embedded in dynamic objects of the host that create their properties when they are read. Such an
// object stores and lists no properties.
type Sealed struct{}

func (Sealed) Has(string) bool             { return false }
func (Sealed) Set(string, goja.Value) bool { return false }
func (Sealed) Delete(string) bool          { return true }
func (Sealed) Keys() []string              { return nil }

// binding creates a function when it is first read, because a function takes 0.7 KiB of a runtime.
type binding struct {
	Sealed
	loader *Loader
	make   func(*Loader) map[string]any
	values map[string]goja.Value // the properties created so far
}

func (b *binding) Get(name string) goja.Value {
	v, ok := b.values[name]
	if !ok {
		if x, ok := b.make(b.loader)[name]; ok {
			if made, ok := x.(native); ok {
				x = native(func(c goja.FunctionCall) goja.Value { return b.loader.options.Size(made(c)) })
			}
			v = b.loader.runtime.ToValue(x)
		}
		if b.values == nil {
			b.values = make(map[string]goja.Value)
		}
		b.values[name] = v
	}
	return v
}

func (b *binding) Has(name string) bool { return b.Get(name) != nil }

type native = func(goja.FunctionCall) goja.Value

// inspectBinding has functions for inspecting values in ways that a script cannot.
func inspectBinding(l *Loader) map[string]any {
	r := l.runtime
	return map[string]any{
		"kind": native(func(c goja.FunctionCall) goja.Value { return r.ToValue(kind(c.Argument(0))) }),
		// target returns the target of a proxy, or null if the proxy is revoked. For any other value it
		// returns undefined.
		"target": native(func(c goja.FunctionCall) goja.Value {
			o, ok := c.Argument(0).(*goja.Object)
			if !ok || o.ExportType() != proxyType {
				return goja.Undefined()
			}
			if target := o.Export().(goja.Proxy).Target(); target != nil {
				return target
			}
			return goja.Null()
		}),
		"quote": native(func(c goja.FunctionCall) goja.Value { return r.ToValue(quote(c.Argument(0).String())) }),
		"label": native(func(c goja.FunctionCall) goja.Value { return r.ToValue(label(c.Argument(0).String())) }),
		"stack": native(func(c goja.FunctionCall) goja.Value { return r.ToValue(stack(c.Argument(0).String())) }),
	}
}

var proxyType = reflect.TypeFor[goja.Proxy]()

// kinds maps the types that the engine exports to the names of their classes.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[*goja.Promise](): "Promise", reflect.TypeFor[goja.ArrayBuffer](): "ArrayBuffer",
	reflect.TypeFor[[]any](): "Set", reflect.TypeFor[[][2]any](): "Map",
}

// kind returns the class of an object, whatever its prototype.
func kind(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return ""
	}
	class := o.ClassName()
	if class != "Object" {
		return class
	}
	switch t := o.ExportType(); {
	case t == nil:
	case kinds[t] != "":
		return kinds[t]
	case t.Kind() == reflect.String:
		return "Symbol"
	case t.Kind() == reflect.Func:
		return "Function"
	case t.Kind() == reflect.Slice:
		return "TypedArray"
	}
	return class
}

var levels = map[string]script.Level{"debug": script.LevelDebug, "info": script.LevelInfo, "warn": script.LevelWarn, "error": script.LevelError}

func consoleBinding(l *Loader) map[string]any {
	return map[string]any{
		"log":    native(l.log),
		"format": native(func(c goja.FunctionCall) goja.Value { return l.runtime.ToValue(l.Format(c.Arguments...)) }),
		"now":    native(func(goja.FunctionCall) goja.Value { return l.runtime.ToValue(l.milliseconds()) }),
		"stack":  native(func(c goja.FunctionCall) goja.Value { return l.runtime.ToValue(stack(c.Argument(0).String())) }),
	}
}

func (l *Loader) log(c goja.FunctionCall) goja.Value {
	l.options.Log(levels[c.Argument(0).String()], c.Argument(1).String())
	return goja.Undefined()
}

const streamLine = 64 << 10 // maximum number of bytes that process.stdout and process.stderr buffer without a newline

// write implements write(level, text) for process.stdout and process.stderr. It logs complete lines and
// buffers the rest.
func (l *Loader) write(c goja.FunctionCall) goja.Value {
	level := levels[c.Argument(0).String()]
	rest := l.unfinished[level] + c.Argument(1).String()
	for {
		line, after, whole := strings.Cut(rest, "\n")
		if !whole {
			break
		}
		l.options.Log(level, line)
		rest = after
	}
	if l.unfinished[level] = rest; len(rest) > streamLine {
		l.Flush()
	}
	return goja.Undefined()
}

// Flush logs the incomplete last lines of process.stdout and process.stderr when a script ends. Only the
// owner of the runtime may call it.
func (l *Loader) Flush() {
	for _, level := range []script.Level{script.LevelInfo, script.LevelError} {
		if line := l.unfinished[level]; line != "" {
			l.unfinished[level] = ""
			l.options.Log(level, line)
		}
	}
}

// milliseconds returns the time since the call of Enable.
func (l *Loader) milliseconds() float64 {
	return float64(time.Since(l.start).Nanoseconds()) / 1e6
}

func clockBinding(l *Loader) map[string]any {
	return map[string]any{
		"now":    native(func(goja.FunctionCall) goja.Value { return l.runtime.ToValue(l.milliseconds()) }),
		"origin": float64(l.start.UnixNano()) / 1e6,
	}
}
