package modules

import (
	"math/big"
	"strings"

	"github.com/dop251/goja"
)

// Inspect returns a value as util.inspect prints it. A value whose own code throws
// while it is inspected gives the error's text. It may be called from native
// functions: an interrupt of the runtime passes as a panic, as goja expects there.
func (l *Loader) Inspect(v goja.Value) string {
	switch v.(type) {
	case nil:
		return "undefined"
	case *goja.Object, *goja.Symbol:
	default:
		switch x := v.Export().(type) {
		case string, *big.Int:
		case float64:
			if x != 0 {
				return v.String()
			}
		default:
			return v.String()
		}
	}
	if l.inspectF == nil {
		l.inspectF = l.callable("inspect", "inspect")
	}
	s, err := l.inspectF(goja.Undefined(), v)
	return text(s, err)
}

// Format returns arguments as console.log prints them; see Inspect.
func (l *Loader) Format(args ...goja.Value) string {
	if len(args) == 1 {
		if s, ok := args[0].(goja.String); ok {
			return s.String()
		}
	}
	plain := len(args) > 0
	for i, v := range args {
		switch v.(type) {
		case goja.String:
			plain = plain && (i > 0 || !strings.Contains(v.String(), "%"))
		case *goja.Object, *goja.Symbol:
			plain = false
		}
	}
	if plain {
		var b strings.Builder
		for i, v := range args {
			if i > 0 {
				b.WriteByte(' ')
			}
			if s, ok := v.(goja.String); ok {
				b.WriteString(s.String())
			} else {
				b.WriteString(l.Inspect(v))
			}
		}
		return b.String()
	}
	if l.formatF == nil {
		l.formatF = l.callable("format", "format")
	}
	s, err := l.formatF(goja.Undefined(), args...)
	return text(s, err)
}

// callable returns a function of a built-in module.
func (l *Loader) callable(module, name string) goja.Callable {
	f, ok := goja.AssertFunction(l.Builtin(module).ToObject(l.runtime).Get(name))
	if !ok {
		panic(l.runtime.NewTypeError("%s is not a function", name))
	}
	return f
}

func text(s goja.Value, err error) string {
	switch e := err.(type) {
	case nil:
	case *goja.InterruptedError:
		panic(e)
	default:
		return "<" + err.Error() + ">"
	}
	return s.String()
}
