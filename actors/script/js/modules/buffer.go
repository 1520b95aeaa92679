package modules

import (
	"fmt"

	"github.com/dop251/goja"
)

func bufferBinding(l *Loader) map[string]any {
	r, b := l.runtime, bytesBinding(l)
	// spaced returns the first bytes in hexadecimal, separated by spaces.
	b["spaced"] = native(func(c goja.FunctionCall) goja.Value {
		data := view(c.Argument(0))
		return r.ToValue(fmt.Sprintf("% x", data[:min(int(c.Argument(1).ToInteger()), len(data))]))
	})
	b["later"] = native(func(c goja.FunctionCall) goja.Value { return Later(r, c) })
	return b
}
