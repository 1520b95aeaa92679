package engine

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
)

// Some values of a runtime are reachable only through closures of the engine: the promise that a timer will
// resolve, functions passed to then, and the results collected so far by Promise.all. The type of a closure
// does not tell which variables it captures. So, once per process, the learner runs a script that creates
// such closures over known values, and searches the memory of each closure for the known value.

// capture describes a variable that every closure of one function captures.
type capture struct {
	offset uintptr
	is     reflect.Type
}

const word = unsafe.Sizeof(uintptr(0))

const wordsMax = 12 // number of words of a closure that the learner searches

// captures maps the code address of a closure to the variables that it captures.
var captures = sync.OnceValue(func() map[uintptr][]capture {
	l := learnAll()
	if len(l.missing) > 0 {
		panic(changed("%s", strings.Join(l.missing, "; ")))
	}
	return l.all
})

func learnAll() *learner {
	l := &learner{vm: goja.New(), all: make(map[uintptr][]capture)}
	l.set("seen", func(goja.FunctionCall) goja.Value { return l.vm.Get("pending") })
	promise := reflect.ValueOf(l.object(`var resolve, reject, object = {}; var pending = new Promise((a, b) => { resolve = a; reject = b; })`, "pending").Export())
	// reaction returns the function of the last reaction to the promise.
	reaction := func(list string) reflect.Value {
		reactions := field(promise.Elem(), list)
		return field(field(reactions.Index(reactions.Len()-1).Elem(), "handler").Elem(), "callback")
	}
	object, value := l.object("", "object"), reflect.TypeFor[goja.Value]()

	l.receiver(field(inside(l.object("", "resolve")), "f"), promise)
	l.receiver(field(inside(l.object("", "reject")), "f"), promise)
	for _, source := range []string{"() => {}", "(function () {})", "async () => {}", "(async function () {})", "({ async m() {} }).m", "(class {})"} {
		f := l.object("var f = "+source, "f")
		l.object("pending.then(f)", "f")
		l.receiver(reaction("fulfillReactions"), inside(f).Addr())
	}
	bound := new(bound)
	call := bound.call
	l.receiver(reflect.ValueOf(&call).Elem(), reflect.ValueOf(bound))
	// The functions of Promise.all and similar methods share a variable with the list of results.
	for source, list := range map[string]string{
		"Promise.all([1, 2, 3, 4, 5, 6, pending])": "fulfillReactions", "Promise.allSettled([1, 2, 3, 4, 5, 6, pending])": "rejectReactions",
		"Promise.any([1, 2, 3, 4, 5, 6, pending])": "rejectReactions",
	} {
		l.object(source, "pending")
		l.list(reaction(list), 7)
	}
	l.object("Promise.allSettled([1, 2, 3, 4, 5, 6, pending])", "pending")
	l.list(reaction("fulfillReactions"), 7)
	// The next closures are the function passed to finally, and the continuation that runs when the promise
	// returned by that function is settled.
	finally := fieldOf[Native](inside(l.object("pending.finally(seen)", "seen")), "f")
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
	behind := inside(l.object("", "proxy")).Addr()
	l.learn(field(inside(revoked), "f"), behind.Type(), behind.Pointer())
	// The last closures are queued promise jobs. A native function that the script calls inspects the last
	// job of the queue.
	queue := Jobs(l.vm)
	last := func() reflect.Value { return reflect.ValueOf(queue).Elem().Index(len(*queue) - 1) }
	l.set("queued", func(goja.FunctionCall) goja.Value { l.learn(last(), value, words[:]...); return goja.Undefined() })
	l.set("waits", func(c goja.FunctionCall) goja.Value {
		reactions := field(reflect.ValueOf(c.Argument(0).Export()).Elem(), "fulfillReactions")
		first := reactions.Index(0)
		l.set("queuedOf", func(goja.FunctionCall) goja.Value {
			l.learn(last(), first.Type(), first.Pointer())
			return goja.Undefined()
		})
		return goja.Undefined()
	})
	l.object(`new Promise(r => { const p = new Promise(a => { r = a; }); p.then(() => {}); waits(p); r(object); queued(); queuedOf(); }); `+
		`object.then = () => {}; Promise.resolve(object); queued(); delete object.then`, "pending")
	return l
}

type learner struct {
	vm      *goja.Runtime
	all     map[uintptr][]capture
	missing []string // descriptions of captures that were not found
}

func (l *learner) set(name string, f Native) {
	if err := l.vm.Set(name, f); err != nil {
		panic(err)
	}
}

// object runs source and returns the object in the global variable name.
func (l *learner) object(source, name string) *goja.Object {
	if _, err := l.vm.RunString(source); err != nil {
		panic(err)
	}
	return l.vm.Get(name).(*goja.Object)
}

// receiver learns where the closure of a method value stores its receiver.
func (l *learner) receiver(closure, held reflect.Value) {
	to := held.Type().Elem()
	_, receiver, _ := strings.Cut(runtime.FuncForPC(closure.Pointer()).Name(), "(*")
	// The method may belong to an embedded type
	for receiver, _, _ = strings.Cut(receiver, ")"); to.Name() != receiver; to = to.Field(0).Type {
	}
	l.learn(closure, reflect.PointerTo(to), held.Pointer())
}

// learn learns where a closure stores a variable with these words as its value.
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

// list learns where a closure stores a pointer to a list of n values.
func (l *learner) list(closure reflect.Value, n int) {
	l.find(closure, reflect.TypeFor[*[]goja.Value](), func(at unsafe.Pointer) bool { return sharedList(at, n) })
}

// sharedList reports whether the word at address at is a pointer to a list of n values. It dereferences the
// word, which may belong to another variable.
//
//go:nocheckptr
func sharedList(at unsafe.Pointer, n int) bool {
	const first = 1 << 16 // smaller numbers are not addresses
	if to := *(*uintptr)(at); to < first || to%word != 0 {
		return false
	}
	list := *(**[3]uintptr)(at)
	return list[0] >= first && list[1] == uintptr(n) && list[2] >= uintptr(n) && list[2] < 4*uintptr(n)
}

func (l *learner) find(closure reflect.Value, is reflect.Type, here func(at unsafe.Pointer) bool) {
	code := closure.Pointer()
	for i := uintptr(1); i < wordsMax; i++ {
		if here(unsafe.Add(closureOf(closure), i*word)) {
			l.all[code] = append(l.all[code], capture{i * word, is})
			return
		}
	}
	l.missing = append(l.missing, fmt.Sprintf("the closure %s holds no %v", runtime.FuncForPC(code).Name(), is))
}

// closureOf returns the memory of the closure in variable f. The first word is the code address, and the
// captured variables follow.
func closureOf(f reflect.Value) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(f.UnsafeAddr()))
}

// captured returns the captured variables of f that the learner knows.
func captured(f reflect.Value) (held []reflect.Value) {
	if !f.CanAddr() {
		return nil
	}
	for _, c := range captures()[f.Pointer()] {
		held = append(held, reflect.NewAt(c.is, unsafe.Add(closureOf(f), c.offset)).Elem())
	}
	return held
}

// bound is a function made by Function.prototype.bind. The engine itself would store the arguments in a
// closure, where Held cannot count them.
type bound struct {
	arguments []goja.Value // the value of this, followed by the other arguments
	do        Native
}

func (b *bound) call(c goja.FunctionCall) goja.Value { return b.do(c) }

// Bound replaces the implementation of f, which was made by bind, so that Held can count its arguments.
func Bound(f *goja.Object, arguments []goja.Value) {
	do := Function(f)
	*do = (&bound{arguments, *do}).call
}
