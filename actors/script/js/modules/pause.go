package modules

import (
	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// pause is the pause object (compile.PauseName). For the engine, reading a property is faster than calling a
// function.
type pause struct {
	Sealed
	loader *Loader
	pause  func() // Options.Pause
}

func (p *pause) Get(property string) goja.Value {
	switch o := &p.loader.options; property {
	case compile.EvalSource:
		return p.loader.runtime.ToValue(func(c goja.FunctionCall) goja.Value {
			o.Eval(c)
			return c.Argument(0)
		})
	case compile.UseRegExp, compile.UsePromise, compile.UseError, compile.UseAsync, compile.UseGenerator:
		o.Uses(property)
	default:
		p.pause()
	}
	return goja.Undefined()
}

// Has implements goja.DynamicObject. It returns true so that every assignment calls Set.
func (p *pause) Has(string) bool { return true }

// Set implements goja.DynamicObject. It passes objects and texts to Options.Size. Numbers, the result of most
// additions, are not reported.
func (p *pause) Set(_ string, v goja.Value) bool {
	switch v.(type) {
	case *goja.Object, goja.String:
		p.loader.options.Size(v)
	}
	return true
}
