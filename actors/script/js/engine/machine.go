package engine

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// Jobs returns a runtime's queue of promise jobs. The engine itself would drop all of them when one overflows the stack.
func Jobs(r *goja.Runtime) *[]func() { return fieldOf[[]func()](reflect.ValueOf(r).Elem(), "jobQueue") }

// Calls is the stack of calls of a runtime.
type Calls struct {
	stack *[]struct{} // of another type: only its length may be read
}

// CallsOf returns the stack of calls.
func CallsOf(r *goja.Runtime) Calls {
	calls := field(machine(r), "callStack")
	if calls.Kind() != reflect.Slice {
		panic(changed("no stack of calls"))
	}
	return Calls{(*[]struct{})(unsafe.Pointer(calls.UnsafeAddr()))}
}

// Depth returns how many functions of scripts have called each other.
func (c Calls) Depth() int { return len(*c.stack) }

// FrameSize is how many bytes a frame takes in the stack of an error.
const FrameSize = int64(unsafe.Sizeof(goja.StackFrame{}))

// Spreads reports whether the script is about to spread something into the arguments of a call.
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

// GrowStack makes room for n values on the stack at once. The engine would copy all of the stack for each 1,024.
func GrowStack(r *goja.Runtime, n int) {
	stack := field(machine(r), "stack")
	reflect.NewAt(stack.Type(), unsafe.Pointer(stack.UnsafeAddr())).Elem().Grow(n)
}

func machine(r *goja.Runtime) reflect.Value { return field(reflect.ValueOf(r).Elem(), "vm").Elem() }
