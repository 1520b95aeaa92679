package modules

import (
	"strings"

	"github.com/dop251/goja"
)

// Format returns arguments as console.log prints them. A value whose own code throws meanwhile gives the error's
// text. It may be called from native functions: an interrupt of the runtime passes as a panic, as goja expects there.
func (l *Loader) Format(args ...goja.Value) string {
	var b strings.Builder
	for i, v := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch s := v.(type) {
		case goja.String:
			text := s.String()
			if i == 0 && len(args) > 1 && strings.Contains(text, "%") {
				return l.inspected(args)
			}
			b.WriteString(text)
		case *goja.Object, *goja.Symbol:
			return l.inspected(args)
		default:
			b.WriteString(v.String())
		}
	}
	return b.String()
}

// inspected has util.format print what is not plain.
func (l *Loader) inspected(args []goja.Value) string {
	if l.formatF == nil {
		l.formatF, _ = goja.AssertFunction(l.Builtin("format").ToObject(l.runtime).Get("format"))
	}
	s, err := l.formatF(goja.Undefined(), args...)
	switch e := err.(type) {
	case nil:
		return s.String()
	case *goja.InterruptedError:
		panic(e)
	default:
		return "<" + err.Error() + ">"
	}
}
