package modules

import (
	"strings"

	"github.com/dop251/goja"
)

// Format formats arguments as console.log does. If code of a value throws, Format returns the text of the
// error. It panics if the call is interrupted.
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

// inspected formats arguments with util.format.
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
