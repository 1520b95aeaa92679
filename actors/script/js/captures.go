package js

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
)

// Some of what a runtime holds can be reached by closures of the engine alone: a promise that a timer
// will resolve, and functions that were given to then. The type of a closure does not say what is
// in it. So closures over something known are looked into, once in the process.

// capture is the pointer that all closures of one code hold.
type capture struct {
	offset uintptr
	to     reflect.Type
}

// captures are known closures of the engine, by their code.
var captures = sync.OnceValue(func() map[uintptr]capture {
	all := make(map[uintptr]capture)
	learn := func(closure, held reflect.Value) {
		code, to := closure.Pointer(), held.Type().Elem()
		_, receiver, _ := strings.Cut(runtime.FuncForPC(code).Name(), "(*")
		for receiver, _, _ = strings.Cut(receiver, ")"); to.Name() != receiver; to = to.Field(0).Type { // it may be the method of an embedded type
		}
		for at := unsafe.Sizeof(code); at <= 2*unsafe.Sizeof(code); at += unsafe.Sizeof(code) { // behind the code
			if *(*uintptr)(unsafe.Add(closureOf(closure), at)) == held.Pointer() {
				all[code] = capture{at, to}
				return
			}
		}
		panic("the engine has changed: its closures do not hold a " + to.Name())
	}
	vm := goja.New()
	of := func(source string) *goja.Object {
		v, err := vm.RunString(source)
		if err != nil {
			panic(err)
		}
		return v.(*goja.Object)
	}
	promise := reflect.ValueOf(of(`var resolve, reject; globalThis.p = new Promise((a, b) => { resolve = a; reject = b; })`).Export())
	learn(implementation(of("resolve")).FieldByName("f"), promise)
	learn(implementation(of("reject")).FieldByName("f"), promise)
	for _, source := range []string{"() => {}", "(function () {})", "async () => {}", "(async function () {})", "({ async m() {} }).m", "(class {})"} {
		f := of(source)
		_ = vm.Set("f", f)
		of("p.then(f)")
		reactions := promise.Elem().FieldByName("fulfillReactions")
		learn(reactions.Index(reactions.Len()-1).Elem().FieldByName("handler").Elem().FieldByName("callback"), implementation(f).Addr())
	}
	return all
})

// closureOf returns the memory of a closure that a variable has.
func closureOf(f reflect.Value) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(f.UnsafeAddr()))
}

// captured returns what a closure is known to hold; not valid: nothing.
func captured(f reflect.Value) (held reflect.Value) {
	if c, ok := captures()[f.Pointer()]; ok && f.CanAddr() {
		held = reflect.NewAt(c.to, *(*unsafe.Pointer)(unsafe.Add(closureOf(f), c.offset)))
	}
	return held
}
