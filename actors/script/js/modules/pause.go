package modules

import (
	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// pause is the object that the files of a script look at (compile.Unit.Program): to
// read a property calls it, which takes the engine less than to call a function.
type pause struct {
	wait func()
	eval func(step string) goja.Value
}

var _ goja.DynamicObject = (*pause)(nil)

func (p *pause) Get(property string) goja.Value {
	switch property {
	case compile.EvalDirect, compile.EvalSource:
		if p.eval != nil {
			return p.eval(property)
		}
	default:
		if p.wait != nil {
			p.wait()
		}
	}
	return goja.Undefined()
}

func (*pause) Set(string, goja.Value) bool { return false }
func (*pause) Has(string) bool             { return false }
func (*pause) Delete(string) bool          { return true }
func (*pause) Keys() []string              { return nil }
