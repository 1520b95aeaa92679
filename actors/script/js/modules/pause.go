package modules

import (
	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

// pause is the object that the files of a script look at (compile.Unit.Program): to
// read a property calls it, which takes the engine less than to call a function.
type pause struct {
	loader *Loader
	exec   goja.Value // callExec, once a file has called it
}

var _ goja.DynamicObject = (*pause)(nil)

func (p *pause) Get(property string) goja.Value {
	o := &p.loader.options
	switch property {
	case compile.EvalDirect, compile.EvalSource:
		if o.Eval != nil {
			return o.Eval(property)
		}
	case compile.UseRegexps:
		if o.Regexps != nil {
			o.Regexps()
		}
	case compile.CallExec:
		if p.exec == nil {
			p.exec = p.loader.runtime.ToValue(p.loader.callExec)
		}
		return p.exec
	default:
		if o.Pause != nil {
			o.Pause()
		}
	}
	return goja.Undefined()
}

func (*pause) Set(string, goja.Value) bool { return false }
func (*pause) Has(string) bool             { return false }
func (*pause) Delete(string) bool          { return true }
func (*pause) Keys() []string              { return nil }

// callExec calls the method exec of its first argument with the others (compile.CallExec).
func (l *Loader) callExec(c goja.FunctionCall) goja.Value {
	of := c.Argument(0)
	if goja.IsUndefined(of) || goja.IsNull(of) {
		panic(l.runtime.NewTypeError("Cannot read property 'exec' of undefined or null"))
	}
	method := of.ToObject(l.runtime).Get("exec")
	c.This, c.Arguments = of, c.Arguments[1:]
	if l.options.Exec != nil && method != nil {
		if v := l.options.Exec(method, c); v != nil {
			return v
		}
	}
	if o, ok := method.(*goja.Object); ok {
		if call, ok := o.Export().(func(goja.FunctionCall) goja.Value); ok {
			return call(c)
		}
	}
	if call, ok := goja.AssertFunction(method); ok { // a proxy
		v, err := call(c.This, c.Arguments...)
		if err != nil {
			panic(err)
		}
		return v
	}
	panic(l.runtime.NewTypeError("Object has no member 'exec'"))
}
