package engine

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// Jobs returns the queue of promise jobs of a runtime. The engine itself drops the whole queue when one job
// overflows the stack.
func Jobs(r *goja.Runtime) *[]func() { return fieldOf[[]func()](reflect.ValueOf(r).Elem(), "jobQueue") }

// Calls is the call stack of a runtime.
type Calls struct {
	stack *[]struct{} // the real element type differs; only the length may be read
}

// CallsOf returns the call stack of r.
func CallsOf(r *goja.Runtime) Calls {
	calls := field(machine(r), "callStack")
	if calls.Kind() != reflect.Slice {
		panic(changed("no stack of calls"))
	}
	return Calls{(*[]struct{})(unsafe.Pointer(calls.UnsafeAddr()))}
}

// Depth returns the number of script functions on the call stack.
func (c Calls) Depth() int { return len(*c.stack) }

// FrameSize is the size in bytes of one frame in the stack of an error.
const FrameSize = int64(unsafe.Sizeof(goja.StackFrame{}))

// Spreads reports whether the next instruction of the script spreads an iterable into the arguments of a
// call.
func Spreads(r *goja.Runtime) bool {
	vm := machine(r)
	code := field(vm, "prg")
	if code.IsNil() {
		return false
	}
	code = field(code.Elem(), "code")
	pc := int(field(vm, "pc").Int())
	return pc < code.Len() && code.Index(pc).Elem().Type().Name() == "_pushSpread"
}

// GrowStack grows the value stack once for n more values. The engine would copy the whole stack for every
// 1,024 values.
func GrowStack(r *goja.Runtime, n int) {
	stack := field(machine(r), "stack")
	reflect.NewAt(stack.Type(), unsafe.Pointer(stack.UnsafeAddr())).Elem().Grow(n)
}

func machine(r *goja.Runtime) reflect.Value { return field(reflect.ValueOf(r).Elem(), "vm").Elem() }
