package modules

import (
	"strings"

	"github.com/dop251/goja"
)

// captureStackTrace gives an object a stack, without what a function that is given has
// called, and it.
func (l *Loader) captureStackTrace(c goja.FunctionCall) goja.Value {
	r := l.runtime
	target, ok := c.Argument(0).(*goja.Object)
	if !ok {
		panic(r.NewTypeError("Invalid argument"))
	}
	e, err := r.New(r.Get("Error"))
	must(err)
	_, frames, _ := strings.Cut(e.Get("stack").String(), "\n")
	if own, rest, _ := strings.Cut(frames, "\n"); strings.HasSuffix(own, "(native)") {
		frames = rest
	}
	if f, ok := c.Argument(1).(*goja.Object); ok {
		frames = above(frames, f)
	}
	head, _ := goja.AssertFunction(r.Get("Error").ToObject(r).Get("prototype").ToObject(r).Get("toString"))
	if head == nil { // the script has taken it away
		return goja.Undefined()
	}
	text, err := head(target)
	must(err)
	must(target.DefineDataProperty("stack", r.ToValue(text.String()+"\n"+frames), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return goja.Undefined()
}

// above returns the frames of those who called f; all of them if they do not name it. Constructors of
// classes have no names: see Constructors.
func above(frames string, f *goja.Object) string {
	name := f.Get("name")
	if name == nil || name.String() == "" {
		return frames
	}
	if _, after, found := strings.Cut(frames, "\tat "+name.String()+" ("); found {
		_, frames, _ = strings.Cut(after, "\n")
	}
	return frames
}
