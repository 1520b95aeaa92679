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
// will resolve, functions that were given to then, what Promise.all has so far. The type of a closure does not say what is
// in it. So closures over something known are looked into, once in the process.

// capture is a variable that all closures of one code hold.
type capture struct {
	offset uintptr
	is     reflect.Type
}

const word = unsafe.Sizeof(uintptr(0))

// wordsMax is in how many words of a closure a variable is looked for.
const wordsMax = 12

// captures are known closures of the engine, by their code.
var captures = sync.OnceValue(func() map[uintptr][]capture {
	l := learner{vm: goja.New(), all: make(map[uintptr][]capture)}
	must(l.vm.Set("seen", func(goja.FunctionCall) goja.Value { return l.vm.Get("pending") }))
	promise := reflect.ValueOf(l.object(`var resolve, reject, object = {}; var pending = new Promise((a, b) => { resolve = a; reject = b; })`, "pending").Export())
	// reaction returns what then was given for a promise last.
	reaction := func(list string) reflect.Value {
		reactions := promise.Elem().FieldByName(list)
		return reactions.Index(reactions.Len() - 1).Elem().FieldByName("handler").Elem().FieldByName("callback")
	}
	object, value := l.object("", "object"), reflect.TypeFor[goja.Value]()

	l.receiver(implementation(l.object("", "resolve")).FieldByName("f"), promise)
	l.receiver(implementation(l.object("", "reject")).FieldByName("f"), promise)
	for _, source := range []string{"() => {}", "(function () {})", "async () => {}", "(async function () {})", "({ async m() {} }).m", "(class {})"} {
		f := l.object("var f = "+source, "f")
		l.object("pending.then(f)", "f")
		l.receiver(reaction("fulfillReactions"), implementation(f).Addr())
	}
	bound := new(boundFunction)
	call := bound.call
	l.receiver(reflect.ValueOf(&call).Elem(), reflect.ValueOf(bound))
	// What the others have for one that waits; the engine keeps the list in a variable of all of them.
	for source, list := range map[string]string{
		"Promise.all([1, 2, 3, 4, 5, 6, pending])": "fulfillReactions", "Promise.allSettled([1, 2, 3, 4, 5, 6, pending])": "rejectReactions",
		"Promise.any([1, 2, 3, 4, 5, 6, pending])": "rejectReactions",
	} {
		l.object(source, "pending")
		l.list(reaction(list), 7)
	}
	l.object("Promise.allSettled([1, 2, 3, 4, 5, 6, pending])", "pending")
	l.list(reaction("fulfillReactions"), 7)
	// A function of finally, and what goes on once that has returned a promise which waits.
	finally := fieldOf[func(goja.FunctionCall) goja.Value](implementation(l.object("pending.finally(seen)", "seen")), "f")
	for _, list := range []string{"fulfillReactions", "rejectReactions"} {
		l.learn(reaction(list), reflect.TypeOf(*finally), *(*uintptr)(unsafe.Pointer(finally)))
	}
	variable := goja.Value(object)
	words := *(*[2]uintptr)(unsafe.Pointer(&variable))
	for _, source := range []string{"Promise.resolve(object).finally(seen)", "Promise.reject(object).finally(seen)"} {
		l.object(source, "pending")
		l.learn(reaction("fulfillReactions"), value, words[:]...)
	}
	revoked := l.object("var both = Proxy.revocable({}, {}); var revoke = both.revoke, proxy = both.proxy", "revoke")
	behind := implementation(l.object("", "proxy")).Addr()
	l.learn(implementation(revoked).FieldByName("f"), behind.Type(), behind.Pointer())
	// Jobs that have not run: the last one in the queue, as a function of the engine sees it.
	queue := fieldOf[[]func()](reflect.ValueOf(l.vm).Elem(), "jobQueue")
	last := func() reflect.Value { return reflect.ValueOf(queue).Elem().Index(len(*queue) - 1) }
	must(l.vm.Set("queued", func(goja.FunctionCall) goja.Value { l.learn(last(), value, words[:]...); return goja.Undefined() }))
	must(l.vm.Set("waits", func(c goja.FunctionCall) goja.Value {
		reactions := fieldNamed(reflect.ValueOf(c.Argument(0).Export()).Elem(), "fulfillReactions")
		first := reactions.Index(0)
		must(l.vm.Set("queuedOf", func(goja.FunctionCall) goja.Value {
			l.learn(last(), first.Type(), first.Pointer())
			return goja.Undefined()
		}))
		return goja.Undefined()
	}))
	l.object(`new Promise(r => { const p = new Promise(a => { r = a; }); p.then(() => {}); waits(p); r(object); queued(); queuedOf(); }); `+
		`object.then = () => {}; Promise.resolve(object); queued(); delete object.then`, "pending")
	return l.all
})

// learner finds out what is in closures.
type learner struct {
	vm  *goja.Runtime
	all map[uintptr][]capture
}

// object runs a text, and returns an object of that name.
func (l *learner) object(source, name string) *goja.Object {
	if _, err := l.vm.RunString(source); err != nil {
		panic(err)
	}
	return l.vm.Get(name).(*goja.Object)
}

// receiver learns of a method's closure over its receiver.
func (l *learner) receiver(closure, held reflect.Value) {
	to := held.Type().Elem()
	_, receiver, _ := strings.Cut(runtime.FuncForPC(closure.Pointer()).Name(), "(*")
	for receiver, _, _ = strings.Cut(receiver, ")"); to.Name() != receiver; to = to.Field(0).Type { // it may be the method of an embedded type
	}
	l.learn(closure, reflect.PointerTo(to), held.Pointer())
}

// learn finds a variable in a closure by its words.
func (l *learner) learn(closure reflect.Value, is reflect.Type, words ...uintptr) {
	l.find(closure, is, func(at unsafe.Pointer) bool {
		for i, w := range words {
			if *(*uintptr)(unsafe.Add(at, uintptr(i)*word)) != w {
				return false
			}
		}
		return true
	})
}

// list finds a list of so many values that closures share.
func (l *learner) list(closure reflect.Value, n int) {
	l.find(closure, reflect.TypeFor[*[]goja.Value](), func(at unsafe.Pointer) bool { return sharedList(at, n) })
}

// sharedList reports whether a pointer to a list is in memory. It reads where the pointer points to, which may be another variable.
//
//go:nocheckptr
func sharedList(at unsafe.Pointer, n int) bool {
	const first = 1 << 16 // numbers below are no addresses
	if to := *(*uintptr)(at); to < first || to%word != 0 {
		return false
	}
	list := *(**[3]uintptr)(at)
	return list[0] >= first && list[1] == uintptr(n) && list[2] >= uintptr(n) && list[2] < 4*uintptr(n)
}

func (l *learner) find(closure reflect.Value, is reflect.Type, here func(at unsafe.Pointer) bool) {
	code := closure.Pointer()
	for i := uintptr(1); i < wordsMax; i++ { // behind the code
		if here(unsafe.Add(closureOf(closure), i*word)) {
			l.all[code] = append(l.all[code], capture{i * word, is})
			return
		}
	}
	panic("the engine has changed: its closures do not hold a " + is.String())
}

// closureOf returns the memory of a closure that a variable has.
func closureOf(f reflect.Value) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(f.UnsafeAddr()))
}

// captured returns the variables that a closure is known to hold.
func captured(f reflect.Value) (held []reflect.Value) {
	if !f.CanAddr() {
		return nil
	}
	for _, c := range captures()[f.Pointer()] {
		held = append(held, reflect.NewAt(c.is, unsafe.Add(closureOf(f), c.offset)).Elem())
	}
	return held
}

// boundFunction is what bind has made: its arguments can be counted, as those in the engine's closure cannot.
type boundFunction struct {
	arguments []goja.Value // this and what was bound; the engine has them as well
	do        native
}

func (b *boundFunction) call(c goja.FunctionCall) goja.Value { return b.do(c) }
