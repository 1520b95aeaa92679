package modules

import (
	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// pause is the object that the files of a script look at (compile.Unit.Program): to
// read a property calls it, which takes the engine less than to call a function.
type pause struct {
	Sealed
	loader *Loader
	pause  func() // of the loader's options
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

// Has implements goja.DynamicObject: what the code assigns goes to Set alone.
func (p *pause) Has(string) bool { return true }

// Set is told what may be large: of numbers, which most sums are, it says nothing.
func (p *pause) Set(_ string, v goja.Value) bool {
	switch v.(type) {
	case *goja.Object, goja.String:
		p.loader.options.Size(v)
	}
	return true
}
