package js

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"troupe/actors/script/js/compile"
	"troupe/actors/script/watchdog"
	"troupe/actors/thread"
)

// matchMax limits the time of one match by the backtracking library. The engine uses this library for
// everything that Go's regexp package cannot match: look-ahead, look-behind, back references, and matches
// that do not start at the beginning of the text. Its time may double with each character of the input, which
// players send. It cannot be interrupted, so matchMax must end a match before the watchdog's grace period is
// over.
const matchMax = 500 * time.Millisecond

// This does not compile unless matchMax plus two periods of the library's clock (100 ms each) fit into the
// watchdog's grace period.
var _ [watchdog.Grace - matchMax - 2*regexp2.DefaultClockPeriod]struct{}

// The library reads the default timeout when it compiles an expression.
func init() { regexp2.DefaultMatchTimeout = matchMax }

// stepsMax is the maximum length, in characters, of a non-ASCII text that is matched step by step. Each step
// compares the whole text.
const stepsMax = 1 << 16

const expressionsMax = 1000

// regexps makes matches of regular expressions fail if they take too long. Without it, the engine drops the
// library's timeout error, as if nothing had matched.
type regexps struct {
	h         *Handler
	prototype *goja.Object
	exec      *goja.Object // the engine's exec, with a time limit
	known     map[string]*expression
	iterates  bool          // the iterators of matchAll have a time limit
	max       time.Duration // maximum duration of a match that finds nothing
}

type expression struct {
	backtracks bool         // uses the backtracking library for every text
	stepping   *goja.Object // a copy of the expression with its own exec property, so that global matches call exec for each match
}

// uses installs the guard of a class that code may use without naming it.
func (h *Handler) uses(class string) {
	if slices.Contains(h.guardedObjects, class) {
		return
	}
	guard := func() {
		switch class {
		case compile.UseAsync:
			guardObject(class, functionGuard("async function"))(h, h.value(asyncFunction()))
		case compile.UseGenerator:
			guardObject(class, (*Handler).guardGenerators)(h, h.value(generatorFunction()))
		default:
			h.vm.Get(class)
		}
	}
	// An error means that the script has frozen or removed the class. It is ignored unless it is an interrupt
	// or an overflow.
	if err := h.attempt(guard); err != nil && isAbrupt(err) {
		panic(err)
	}
}

// guardRegexps limits the time of the methods of regular expressions.
func (h *Handler) guardRegexps(constructor *goja.Object) {
	prototype := constructor.Get("prototype").ToObject(h.vm)
	r := &regexps{h: h, prototype: prototype, exec: prototype.Get("exec").ToObject(h.vm), known: make(map[string]*expression), max: matchMax / 2}
	for _, o := range []*goja.Object{r.exec, prototype.Get("test").ToObject(h.vm)} {
		guardFunction(o, r.once)
	}
	for _, symbol := range []*goja.Symbol{goja.SymMatch, goja.SymMatchAll, goja.SymReplace, goja.SymSplit, goja.SymSearch} {
		o := prototype.GetSymbol(symbol).ToObject(h.vm)
		guardFunction(o, func(method native, c goja.FunctionCall) goja.Value { return r.every(symbol, method, c) })
		h.countCalls(o) // the method calls exec, which may be the method itself
	}
	h.regexps = r
}

// once wraps exec and test, which match once. The engine may call them in a loop.
func (r *regexps) once(method native, c goja.FunctionCall) goja.Value {
	r.h.pause()
	text := r.h.toText(c.Argument(0))
	c.Arguments = []goja.Value{text}
	return r.h.pieces(text, r.limited(c.This, text, func() goja.Value { return method(c) }))
}

// every wraps a method that may match many times.
func (r *regexps) every(symbol *goja.Symbol, method native, c goja.FunctionCall) goja.Value {
	text := r.h.toText(c.Argument(0))
	c.Arguments = append([]goja.Value{text}, c.Arguments[min(1, len(c.Arguments)):]...)
	if symbol == goja.SymMatchAll {
		return r.iterator(method(c))
	}
	r.h.boundText(text, "a regular expression that matches many times")
	called := false
	if symbol == goja.SymReplace && len(c.Arguments) > 1 {
		c.Arguments[1] = r.h.boundReplacement(text, c.Arguments[1], func() int64 { return r.times(c.This, text) })
		if replacement, ok := c.Arguments[1].Export().(func(goja.FunctionCall) goja.Value); ok {
			c.Arguments[1] = r.h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
				called = true // the engine calls the replacement after it has found all matches
				return replacement(c)
			})
		}
	}
	if stepping := r.stepping(symbol, c.This, text); stepping != nil {
		if symbol == goja.SymSplit {
			return r.split(stepping, text, c.Argument(1))
		}
		of, _ := c.This.(*goja.Object)
		must(of.Set("lastIndex", 0))
		c.This = stepping
		return method(c)
	}
	of := c.This
	if o, ok := of.(*goja.Object); ok && !r.ours(o) && (symbol == goja.SymReplace || symbol == goja.SymSplit) {
		c.This = r.pinned(o)
	}
	var v goja.Value
	found := r.limited(of, text, func() goja.Value {
		if v = method(c); called {
			return goja.Undefined()
		}
		return v
	})
	if called {
		return v
	}
	return r.h.pieces(text, found)
}

// pinned returns a view of o, a regular expression that has an exec of the script. The matches that exec
// returns have checked, pinned lengths.
func (r *regexps) pinned(o *goja.Object) *goja.Object {
	h := r.h
	of := func(o *goja.Object) *goja.Object {
		exec, ok := goja.AssertFunction(o.Get("exec"))
		return h.instead(o, "exec", h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			if !ok { // otherwise the engine would call nothing
				panic(h.vm.NewTypeError("exec is not a function"))
			}
			v := returned(exec(o, c.Arguments...))
			if found, ok := v.(*goja.Object); ok {
				return h.pinned(found, h.boundList(found, "a match"))
			}
			return v
		}))
	}
	class := propertyOf(o, "constructor") // split creates its matcher with the species constructor
	if goja.IsUndefined(class) {
		class = r.prototype.Get("constructor")
	}
	species := class.ToObject(h.vm).GetSymbol(goja.SymSpecies)
	if species == nil || goja.IsUndefined(species) || goja.IsNull(species) {
		species = r.prototype.Get("constructor")
	}
	constructor, ok := goja.AssertConstructor(species)
	if !ok {
		return of(o)
	}
	made := h.vm.NewObject()
	must(made.SetSymbol(goja.SymSpecies, h.vm.ToValue(func(c goja.ConstructorCall) *goja.Object {
		return of(returned(constructor(nil, c.Arguments...)))
	})))
	return h.instead(of(o), "constructor", made)
}

// times returns how often an expression matches in a text, or an upper bound if the expression has methods of
// the script.
func (r *regexps) times(of goja.Value, text goja.String) int64 {
	o, ok := of.(*goja.Object)
	if !ok || !r.ours(o) {
		return int64(text.Length()) + 1
	}
	if !o.Get("global").ToBoolean() {
		return 1
	}
	match, ok := goja.AssertFunction(r.prototype.GetSymbol(goja.SymMatch))
	if !ok {
		return int64(text.Length()) + 1
	}
	if found, ok := returned(match(o, text)).(*goja.Object); ok {
		return lengthOf(found)
	}
	return 0
}

// iterator limits the time of all iterators of matchAll. It does so once, when it gets the first iterator.
func (r *regexps) iterator(v goja.Value) goja.Value {
	if iterator, ok := v.(*goja.Object); ok && !r.iterates && iterator.Prototype() != nil {
		r.iterates = true
		guardFunction(iterator.Prototype().Get("next").ToObject(r.h.vm), func(next native, c goja.FunctionCall) goja.Value {
			return r.limited(nil, nil, func() goja.Value { return next(c) })
		})
	}
	return v
}

// limited calls method, which matches the expression of against text. It throws if nothing matched, the call
// took too long, and the backtracking library may have been used. If of and text are nil, method is the next
// function of an iterator.
func (r *regexps) limited(of, text goja.Value, method func() goja.Value) goja.Value {
	began := time.Now()
	var v goja.Value
	thread.Long(func() { v = method() })
	took := time.Since(began)
	r.h.endIfInterrupted()
	if took >= r.max && nothing(v, text) && r.mayBacktrack(of, text) {
		panic(r.h.rangeError("a match of a regular expression took more than %v in the embedded engine", r.max))
	}
	r.h.worked(took)
	return v
}

// endIfInterrupted ends the call if it was interrupted. The engine does not check for interrupts inside
// built-ins.
func (h *Handler) endIfInterrupted() {
	if h.interrupted.Load() {
		h.value(noScript())
	}
}

var noScript = snippet("0")

// nothing reports whether v is the result of a method that found no match.
func nothing(v, text goja.Value) bool {
	o, ok := v.(*goja.Object)
	switch {
	case !ok:
		return goja.IsNull(v) || v.SameAs(text) || v.Export() == false || v.Export() == int64(-1)
	case text == nil:
		return o.Get("done").ToBoolean()
	case o.ClassName() != "Array" || o.Get("length").ToInteger() != 1:
		return false
	}
	return o.Get("0").SameAs(text) // the result of split
}

// mayBacktrack reports whether the backtracking library may have been used for the match.
func (r *regexps) mayBacktrack(of, text goja.Value) bool {
	o, ok := of.(*goja.Object)
	if !ok || o.ClassName() != "RegExp" {
		return true // an iterator, or a class of the script
	}
	flags := o.Get("flags").String()
	return r.expression(o, flags).backtracks || strings.ContainsAny(flags, "gy") || !isASCII(text)
}

// ours reports whether an expression has the engine's prototype and its guarded exec.
func (r *regexps) ours(o *goja.Object) bool {
	if o.ClassName() != "RegExp" || o.Prototype() != r.prototype {
		return false
	}
	exec := o.Get("exec")
	return exec != nil && exec.SameAs(r.exec)
}

// stepping returns the copy of an expression that matches step by step. It returns nil if the original can be
// used: it matches only once, or it does not backtrack.
func (r *regexps) stepping(symbol *goja.Symbol, of, text goja.Value) *goja.Object {
	o, ok := of.(*goja.Object)
	if !ok || symbol == goja.SymSearch || !r.ours(o) || symbol != goja.SymSplit && !o.Get("global").ToBoolean() {
		return nil
	}
	flags := o.Get("flags").String()
	if symbol == goja.SymSplit {
		flags = "g" + strings.NewReplacer("g", "", "y", "").Replace(flags)
	}
	e := r.expression(o, flags)
	if s, _ := text.(goja.String); !e.backtracks && (strings.Contains(flags, "u") || isASCII(text) || s == nil || s.Length() > stepsMax) {
		return nil
	}
	if e.stepping == nil {
		made := returned(r.h.vm.New(r.prototype.Get("constructor"), o, r.h.vm.ToValue(flags)))
		must(made.DefineDataProperty("exec", r.exec, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
		e.stepping = made
	}
	return e.stepping
}

// expression returns the cached data of the expression with the source of o and the given flags.
func (r *regexps) expression(o *goja.Object, flags string) *expression {
	source := o.Get("source").String()
	key := flags + "/" + source
	e := r.known[key]
	if e == nil {
		if len(r.known) >= expressionsMax {
			clear(r.known)
		}
		linear, err := parser.TransformRegExp(source, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
		if err == nil {
			_, err = regexp.Compile(linear)
		}
		e = &expression{backtracks: err != nil}
		r.known[key] = e
	}
	return e
}

func isASCII(text goja.Value) bool {
	s := text.String()
	return strings.IndexFunc(s, func(c rune) bool { return c >= utf8.RuneSelf }) < 0
}

// split implements String.prototype.split with a global expression, in the same way as the engine.
func (r *regexps) split(by *goja.Object, text, most goja.Value) goja.Value {
	whole, _ := text.(goja.String)
	limit := int64(math.MaxUint32)
	if !goja.IsUndefined(most) {
		limit = int64(uint32(most.ToInteger()))
	}
	var parts []any
	exec, last, length := function(by, "exec"), 0, whole.Length()
	unicode := by.Get("unicode").ToBoolean()
	must(by.Set("lastIndex", 0))
	for int64(len(parts)) < limit {
		match, ok := exec(goja.FunctionCall{This: by, Arguments: []goja.Value{text}}).(*goja.Object)
		if !ok {
			break
		}
		start, end := int(match.Get("index").ToInteger()), int(by.Get("lastIndex").ToInteger())
		if start == end {
			step := 1
			if unicode && end+1 < length && utf16.IsSurrogate(rune(whole.CharAt(end))) && utf16.IsSurrogate(rune(whole.CharAt(end+1))) {
				step = 2
			}
			must(by.Set("lastIndex", end+step))
			if length > 0 && (start == 0 || start >= length) {
				continue
			}
		}
		if length == 0 {
			return r.h.vm.NewArray()
		}
		parts, last = append(parts, whole.Substring(last, start)), end
		for i, n := int64(1), match.Get("length").ToInteger(); i < n; i++ {
			parts = append(parts, match.Get(strconv.FormatInt(i, 10)))
		}
	}
	parts = append(parts, whole.Substring(last, length))
	return r.h.vm.NewArray(parts[:min(int64(len(parts)), limit)]...)
}
