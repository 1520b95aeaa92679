package modules

import "github.com/dop251/goja"

// pause is the object that the files of a script look at (compile.Unit.Program): to
// read a property calls it, which takes the engine less than to call a function.
type pause func()

var _ goja.DynamicObject = pause(nil)

func (p pause) Get(string) goja.Value {
	if p != nil {
		p()
	}
	return goja.Undefined()
}

func (pause) Set(string, goja.Value) bool { return false }
func (pause) Has(string) bool             { return false }
func (pause) Delete(string) bool          { return true }
func (pause) Keys() []string              { return nil }
