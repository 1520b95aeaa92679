package modules

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"
)

// captureStackTrace implements Error.captureStackTrace(object, f). The stack omits f and the functions called
// by f, provided that f has a name.
func (l *Loader) captureStackTrace(c goja.FunctionCall) goja.Value {
	r := l.runtime
	target, ok := c.Argument(0).(*goja.Object)
	if !ok {
		panic(r.NewTypeError("Invalid argument"))
	}
	e, err := r.New(r.Get("Error"))
	must(err)
	_, frames, _ := strings.Cut(e.Get("stack").String(), "\n")
	if f, ok := c.Argument(1).(*goja.Object); ok {
		if _, after, found := strings.Cut(frames, fmt.Sprintf("\tat %v (", f.Get("name"))); found {
			_, frames, _ = strings.Cut(after, "\n")
		}
	}
	head, _ := goja.AssertFunction(r.Get("Error").ToObject(r).Get("prototype").ToObject(r).Get("toString"))
	if head == nil { // the script has deleted it
		return goja.Undefined()
	}
	text, err := head(target)
	must(err)
	must(target.DefineDataProperty("stack", r.ToValue(text.String()+"\n"+frames), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return goja.Undefined()
}
