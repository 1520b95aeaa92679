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

// Only closures of the engine hold some of what a runtime keeps: a promise that a timer will resolve, functions that were given to then, what
// Promise.all has so far. The type of a closure does not say which variables it holds. So, once in the process, a script makes such closures over
// known values, and the learner searches for these values in the memory of the closures.

// capture is a variable that all closures of one function hold.
type capture struct {
	offset uintptr
	is     reflect.Type
}

const word = unsafe.Sizeof(uintptr(0))

const wordsMax = 12 // in how many words of a closure the learner searches

// captures has the closures that the learner knows, by their code.
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
	// The functions of Promise.all and the like share a variable with the list of results.
	for source, list := range map[string]string{
		"Promise.all([1, 2, 3, 4, 5, 6, pending])": "fulfillReactions", "Promise.allSettled([1, 2, 3, 4, 5, 6, pending])": "rejectReactions",
		"Promise.any([1, 2, 3, 4, 5, 6, pending])": "rejectReactions",
	} {
		l.object(source, "pending")
		l.list(reaction(list), 7)
	}
	l.object("Promise.allSettled([1, 2, 3, 4, 5, 6, pending])", "pending")
	l.list(reaction("fulfillReactions"), 7)
	// The function that finally was given, and what continues when that has returned a promise which waits.
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
	// Jobs that have not run: a function that the script calls looks at the last one in the queue.
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
	missing []string // what it has not found
}

func (l *learner) set(name string, f Native) {
	if err := l.vm.Set(name, f); err != nil {
		panic(err)
	}
}

// object runs a text, and returns the object of a global name.
func (l *learner) object(source, name string) *goja.Object {
	if _, err := l.vm.RunString(source); err != nil {
		panic(err)
	}
	return l.vm.Get(name).(*goja.Object)
}

// receiver learns where a method's closure holds its receiver.
func (l *learner) receiver(closure, held reflect.Value) {
	to := held.Type().Elem()
	_, receiver, _ := strings.Cut(runtime.FuncForPC(closure.Pointer()).Name(), "(*")
	for receiver, _, _ = strings.Cut(receiver, ")"); to.Name() != receiver; to = to.Field(0).Type { // the method may be that of an embedded type
	}
	l.learn(closure, reflect.PointerTo(to), held.Pointer())
}

// learn learns where a closure holds a variable of these words.
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

// list learns where closures hold a pointer to a list of n values.
func (l *learner) list(closure reflect.Value, n int) {
	l.find(closure, reflect.TypeFor[*[]goja.Value](), func(at unsafe.Pointer) bool { return sharedList(at, n) })
}

// sharedList reports whether at is a pointer to a list of n values. It reads what the word points to, which may be another variable.
//
//go:nocheckptr
func sharedList(at unsafe.Pointer, n int) bool {
	const first = 1 << 16 // smaller numbers are no addresses
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

// closureOf returns the memory of the closure in a variable: its code, and then its variables.
func closureOf(f reflect.Value) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(f.UnsafeAddr()))
}

// captured returns the variables that the learner has found in closures like f.
func captured(f reflect.Value) (held []reflect.Value) {
	if !f.CanAddr() {
		return nil
	}
	for _, c := range captures()[f.Pointer()] {
		held = append(held, reflect.NewAt(c.is, unsafe.Add(closureOf(f), c.offset)).Elem())
	}
	return held
}

// bound is a function that bind has made. The engine has the arguments in a closure, where they could not be counted.
type bound struct {
	arguments []goja.Value // this, and the others
	do        Native
}

func (b *bound) call(c goja.FunctionCall) goja.Value { return b.do(c) }

// Bound replaces a function that bind has made by one whose arguments Held counts.
func Bound(f *goja.Object, arguments []goja.Value) {
	do := Function(f)
	*do = (&bound{arguments, *do}).call
}
