package js

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
	"troupe/actors/script/js/engine"
	"troupe/actors/script/watchdog"
	"troupe/actors/thread"
)

// What a built-in makes or goes through may be of any size. The memory for it is asked for at
// once: if the system refuses, that is the end of the host, and nothing recovers from it; and
// nothing interrupts it. So what would be more than a call may take, or than Node.js has, is
// refused before. Buffer has its own bound.

const (
	// textsMax is how many characters a text may have, listsMax how many elements a list that a built-in goes through. Nothing
	// interrupts the engine while it makes one, and the garbage collector waits for each copy: of 64 MiB, all other game
	// sessions waited for 40 to 600 ms.
	textsMax = 4 << 20
	listsMax = 1 << 20
	// longList is from how many elements on what goes through a list may take long.
	longList = 1 << 12
	// containerSize is how many bytes a list or an object takes.
	containerSize = 256
	// patternMax is how many characters a regular expression may have that is made of a text.
	patternMax = 1 << 20
)

// sizedTypes are the constructors of what holds bytes.
var sizedTypes = [...]string{"ArrayBuffer", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array",
	"Float32Array", "Float64Array"}

// sizeMax is how many bytes may be asked for at once.
func (h *Handler) sizeMax() int64 {
	if limit := h.program.limits.MemoryMax; limit > 0 {
		return limit
	}
	return 1 << 32
}

// listMax is how many elements a list may have that a built-in goes through, textMax how many
// characters any text may have: several are made on the way to one.
func (h *Handler) listMax() int64 { return min(listsMax, h.sizeMax()/engine.ValueSize) }
func (h *Handler) textMax() int64 { return min(textsMax, h.sizeMax()/4) }

// makers are built-ins that return something new, which may be large: what a script has made in a row of these is counted.
var makers = map[string][]string{
	"Array":  {"concat", "fill", "filter", "flat", "flatMap", "join", "map", "slice", "splice", "toReversed", "toSorted", "toSpliced", "with"},
	"String": {"concat", "normalize", "padEnd", "padStart", "repeat", "replace", "replaceAll", "split", "toLowerCase", "toUpperCase"},
}

// sized is told what was made and may be large, and returns it. A text that is too long throws.
func (h *Handler) sized(v goja.Value) goja.Value {
	switch v := v.(type) {
	case goja.String:
		if n := int64(v.Length()); n > h.textMax() {
			panic(h.textTooLong())
		} else if n >= watchdog.LargePiece {
			if !engine.ASCII(v) {
				n *= 2
			}
			h.weigh(n)
		}
	case *goja.Object:
		h.weigh(engine.Bytes(v))
	}
	return v
}

// weigh has it counted what a call makes, from some size on.
func (h *Handler) weigh(bytes int64) {
	if bytes >= watchdog.LargePiece && h.watch != nil {
		h.watch.Made(bytes)
		h.endIfInterrupted()
	}
}

// boundMade refuses what is too much if there is so much of each of n, and counts it.
func (h *Handler) boundMade(n, each int64, what string) {
	if n > h.sizeMax()/each {
		panic(h.tooLong(n, what))
	}
	h.weigh(n * each)
}

// guardCollection bounds what a map or set is made of.
func guardCollection(name string) func(h *Handler, o *goja.Object) {
	return func(h *Handler, o *goja.Object) {
		guardConstructor(o, func(args []goja.Value) []goja.Value {
			if len(args) > 0 {
				if list, ok := args[0].(*goja.Object); ok && list.ClassName() == "Array" {
					h.boundMade(lengthOf(list), engine.EntrySize, name)
				}
			}
			return args
		})
		prototype := o.Get("prototype").ToObject(h.vm)
		for _, key := range []string{"keys", "values", "entries"} {
			before(prototype.Get(key).(*goja.Object), func(c goja.FunctionCall) { h.spread(engine.Entries(c.This)) })
		}
	}
}

func (h *Handler) tooLong(n int64, what string) *goja.Object {
	return h.rangeError("a list of %d is too long for %s", n, what)
}

func (h *Handler) textTooLong() *goja.Object { return h.rangeError("Invalid string length") }

// lengthOf returns what an object says is its length.
func lengthOf(o *goja.Object) int64 {
	v := o.Get("length")
	switch v.(type) {
	case nil, *goja.Symbol:
		return 0
	}
	return v.ToInteger()
}

// propertyOf is one of an object, undefined if it has none of that name.
func propertyOf(o *goja.Object, name string) goja.Value { return cmp.Or(o.Get(name), goja.Undefined()) }

func indexText(i int64) string { return strconv.FormatInt(i, 10) }

// boundList refuses a list that is too long: an array that may be nearly empty, or what says
// that it has a length.
func (h *Handler) boundList(v goja.Value, what string) int64 {
	o, ok := v.(*goja.Object)
	if !ok {
		return 0
	}
	n := lengthOf(o)
	if n > h.listMax() {
		panic(h.tooLong(n, what))
	}
	return n
}

// boundText refuses a text whose characters would be too many in a list.
func (h *Handler) boundText(v goja.Value, what string) {
	if s, ok := v.(goja.String); ok && int64(s.Length()) > h.listMax() {
		panic(h.tooLong(int64(s.Length()), what))
	}
}

func (h *Handler) boundTextIterator(c goja.FunctionCall) {
	h.boundText(c.This, "an iterator")
	if s, ok := c.This.(goja.String); ok {
		h.spread(int64(s.Length()))
	}
}

// boundEncoded bounds what a text becomes that is encoded: nine times as much.
func (h *Handler) boundEncoded(c goja.FunctionCall) {
	if s, ok := c.Argument(0).(goja.String); ok && int64(s.Length()) > h.textMax()/9 {
		panic(h.textTooLong())
	}
}

// listed is a check of the list that a built-in is called on. Nothing pauses the built-in, which may be the one that never ends.
func listed(name string) guarding {
	return guardInstead(func(h *Handler, call native, c goja.FunctionCall) (v goja.Value) {
		n, unpin := h.pinThis(&c, name)
		if n < longList {
			return unpin(call(c))
		}
		thread.Long(func() { v = call(c) })
		return unpin(v)
	})
}

// iterated is listed for what makes an iterator.
func iterated(name string) guarding {
	return guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value {
		n, _ := h.pinThis(&c, name)
		h.spread(n)
		return h.countNext(call(c))
	})
}

// iteratedBytes is iterated for arrays of bytes: the engine knows their length.
func iteratedBytes(name string) guarding {
	return guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value {
		h.spread(h.boundList(c.This, name))
		return h.countNext(call(c))
	})
}

// spreadMax is how many elements may be spread into the arguments of a call: Node.js has about as many.
const spreadMax = 1 << 17

// spread is told that so many elements are gone through. If they become arguments, the engine's stack grows for them at once:
// the engine would copy all of it for each 1,024.
func (h *Handler) spread(n int64) {
	if n*engine.ValueSize < watchdog.LargePiece || !engine.Spreads(h.vm) {
		return
	}
	if n > spreadMax {
		panic(h.rangeError("Maximum call stack size exceeded"))
	}
	h.weigh(n * engine.ValueSize)
	engine.GrowStack(h.vm, int(n))
}

// arrayGuards are those of the prototype of arrays.
func arrayGuards() map[string]guarding {
	guards := map[string]guarding{
		"constructor": guardObject("Array", (*Handler).guardArrayFrom),
		"flat":        guardInstead((*Handler).flat),
		"join":        guardInstead((*Handler).join),
		"concat":      guardInstead((*Handler).concat),
		"values":      guardValues,
		"toLocaleString": guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value {
			return h.join(call, goja.FunctionCall{This: c.This})
		}),
		"entries": iterated("entries"), "keys": iterated("keys"),
	}
	for _, name := range []string{
		"copyWithin", "every", "fill", "filter", "find", "findIndex", "findLast", "findLastIndex", "flatMap", "forEach", "includes", "indexOf",
		"lastIndexOf", "map", "reduce", "reduceRight", "reverse", "shift", "slice", "some", "sort", "splice", "unshift", "with",
		"toReversed", "toSorted", "toSpliced",
	} {
		guards[name] = listed(name)
	}
	return guards
}

// guardValues is that of the iterators of arrays: whatever goes through an array asks for one.
var guardValues = guardObject("values", func(h *Handler, o *goja.Object) { iterated("values")(h, o) })

var guardTypedValues = guardObject("typed values", func(h *Handler, o *goja.Object) { iteratedBytes("values")(h, o) })

// typedGuards are those of what all arrays of bytes have: lists of their elements take more.
func typedGuards() map[string]guarding {
	return map[string]guarding{
		"join":           guardCall(func(h *Handler, c goja.FunctionCall) { h.boundList(c.This, "join") }),
		"toLocaleString": guardCall(func(h *Handler, c goja.FunctionCall) { h.boundList(c.This, "toLocaleString") }),
		"entries":        iteratedBytes("entries"), "keys": iteratedBytes("keys"), "values": guardTypedValues,
	}
}

// guardArrayFrom bounds what Array.from makes of what says that it has a length.
func (h *Handler) guardArrayFrom(array *goja.Object) {
	guardFunction(array.Get("from").(*goja.Object), func(from native, c goja.FunctionCall) goja.Value {
		n := h.boundList(c.Argument(0), "Array.from")
		if o, ok := c.Argument(0).(*goja.Object); ok {
			c.Arguments[0] = h.source(o, n)
		}
		return h.sized(from(c))
	})
}

// isArray is Array.isArray.
func isArray(o *goja.Object) bool {
	o = behindProxies(o)
	return o.ClassName() == "Array" && !isProxy(o)
}

// join is Array.prototype.join: what it makes is bounded.
func (h *Handler) join(call native, c goja.FunctionCall) goja.Value {
	if goja.IsUndefined(c.This) || goja.IsNull(c.This) {
		return call(c)
	}
	o := c.This.ToObject(h.vm)
	n, separator := h.boundList(o, "join"), c.Argument(0)
	if goja.IsUndefined(separator) {
		separator = h.vm.ToValue(",")
	}
	return h.texts(o, n, h.toText(separator))
}

// texts puts the elements of a list into one text.
func (h *Handler) texts(list *goja.Object, n int64, separator goja.String) goja.Value {
	if slices.Contains(h.joining, list) { // in itself
		return h.vm.ToValue("")
	}
	h.joining = append(h.joining, list)
	defer func() { h.joining = h.joining[:len(h.joining)-1] }()
	var b goja.StringBuilder
	total, most := int64(0), h.textMax()
	add := func(s goja.String) {
		if total += int64(s.Length()); total > most {
			panic(h.textTooLong())
		}
		b.WriteString(s)
	}
	for i := range n {
		if i%1024 == 1023 {
			h.look()
		}
		if i > 0 {
			add(separator)
		}
		if v := list.Get(indexText(i)); v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
			add(h.toText(v))
		}
	}
	return b.String()
}

// guardRaw bounds String.raw.
func (h *Handler) guardRaw(class *goja.Object) {
	guardFunction(class.Get("raw").(*goja.Object), func(_ native, c goja.FunctionCall) goja.Value {
		segments := propertyOf(c.Argument(0).ToObject(h.vm), "raw").ToObject(h.vm)
		var list []any
		for i, n := int64(0), h.boundList(segments, "String.raw"); i < n; i++ {
			if list = append(list, h.toText(propertyOf(segments, indexText(i)))); i+1 < n && i+1 < int64(len(c.Arguments)) {
				list = append(list, h.toText(c.Arguments[i+1]))
			}
		}
		return h.texts(h.vm.NewArray(list...), int64(len(list)), h.toText(h.vm.ToValue("")))
	})
}

// guardSized bounds the constructor of what holds bytes.
func (h *Handler) guardSized(o *goja.Object) {
	size, typed := int64(1), false
	if v := o.Get("BYTES_PER_ELEMENT"); v != nil {
		size, typed = v.ToInteger(), true
	}
	most := h.sizeMax() / size
	guardConstructor(o, func(args []goja.Value) []goja.Value {
		if len(args) == 0 {
			return args
		}
		if !typed {
			args[0] = args[0].ToNumber()
		}
		n, _ := lengthGiven(args[0])
		switch {
		case n > float64(most):
			panic(h.rangeError("Array buffer allocation failed"))
		case n > 0:
			h.weigh(int64(n) * size)
		default:
			n = 0 // also for NaN
		}
		if o, ok := args[0].(*goja.Object); ok && typed && !engine.HoldsBytes(o) {
			args[0] = h.source(o, int64(n))
		}
		return args
	})
}

// lengthGiven returns what a constructor of what holds bytes takes for a length: a primitive, or
// what an array-like object says.
func lengthGiven(v goja.Value) (n float64, ok bool) {
	o, isObject := v.(*goja.Object)
	if !isObject {
		_, isSymbol := v.(*goja.Symbol)
		return v.ToFloat(), !isSymbol
	}
	switch o.ExportType() {
	case bytesType:
		b, _ := o.Export().([]byte)
		return float64(len(b)), true
	case bufferType: // it is not copied
		return 0, false
	}
	if v = o.Get("length"); v == nil {
		return 0, false
	}
	return v.ToFloat(), true
}

var bytesType, bufferType = reflect.TypeFor[[]byte](), reflect.TypeFor[goja.ArrayBuffer]()

// stringGuards are those of the prototype of strings.
func stringGuards() map[string]guarding {
	return map[string]guarding{
		"repeat":     guardInstead((*Handler).repeat),
		"padStart":   guardInstead((*Handler).pad),
		"padEnd":     guardInstead((*Handler).pad),
		"concat":     guardInstead((*Handler).concatTexts),
		"replace":    guardInstead(replaceText(1)),
		"replaceAll": guardInstead(replaceText(math.MaxInt)),
		"split":      guardInstead((*Handler).splitText),
		"normalize":  guardCall(func(h *Handler, c goja.FunctionCall) { h.boundText(c.This, "normalize") }),
		"match":      guardCall((*Handler).usesRegexps), "matchAll": guardCall((*Handler).usesRegexps), "search": guardCall((*Handler).usesRegexps),
	}
}

// usesRegexps is for what makes an expression of a text.
func (h *Handler) usesRegexps(goja.FunctionCall) { h.useRegexps() }

// toText is what ToString of the language returns: the engine's own leaves numbers and the like alone.
func (h *Handler) toText(v goja.Value) goja.String {
	switch s := v.ToString().(type) {
	case goja.String:
		return s
	case *goja.Symbol:
		panic(h.vm.NewTypeError("Cannot convert a Symbol value to a string"))
	default:
		return h.vm.ToValue(s.String()).(goja.String)
	}
}

// textOf makes the receiver of a method of strings a string, converted once; false if the engine
// is to say what is wrong with it.
func (h *Handler) textOf(c *goja.FunctionCall) (goja.String, bool) {
	if goja.IsUndefined(c.This) || goja.IsNull(c.This) {
		return nil, false
	}
	text := h.toText(c.This)
	c.This = text
	return text, true
}

func (h *Handler) repeat(call native, c goja.FunctionCall) goja.Value {
	if text, ok := h.textOf(&c); ok && len(c.Arguments) > 0 {
		c.Arguments[0] = c.Arguments[0].ToNumber()
		n := c.Arguments[0].ToInteger()
		if text.Length() > 0 && n > h.textMax()/int64(text.Length()) && n < math.MaxInt64 { // infinity has words of its own
			panic(h.textTooLong())
		}
	}
	return call(c)
}

func (h *Handler) pad(call native, c goja.FunctionCall) goja.Value {
	if text, ok := h.textOf(&c); ok && len(c.Arguments) > 0 {
		c.Arguments[0] = c.Arguments[0].ToNumber()
		if c.Arguments[0].ToInteger() > max(h.textMax(), int64(text.Length())) {
			panic(h.textTooLong())
		}
	}
	return call(c)
}

func (h *Handler) concatTexts(call native, c goja.FunctionCall) goja.Value {
	if text, ok := h.textOf(&c); ok {
		total := int64(text.Length())
		for i, v := range c.Arguments {
			s := h.toText(v)
			c.Arguments[i] = s
			if total += int64(s.Length()); total > h.textMax() {
				panic(h.textTooLong())
			}
		}
	}
	return call(c)
}

// replaceText is replace or replaceAll, of a text: expressions are bounded where they match.
func replaceText(most int) func(h *Handler, call native, c goja.FunctionCall) goja.Value {
	return func(h *Handler, call native, c goja.FunctionCall) goja.Value {
		if _, ok := c.Argument(0).(*goja.Object); ok || len(c.Arguments) < 2 {
			return call(c)
		}
		text, ok := h.textOf(&c)
		if !ok {
			return call(c)
		}
		c.Arguments[0] = h.toText(c.Arguments[0])
		c.Arguments[1] = h.boundReplacement(text, c.Arguments[1], func() int64 {
			return int64(min(most, strings.Count(text.String(), c.Arguments[0].String())))
		})
		return call(c)
	}
}

// boundReplacement returns a replacement for something in a text that makes no text that is too
// long. Times says how often it takes place.
func (h *Handler) boundReplacement(text goja.String, by goja.Value, times func() int64) goja.Value {
	most := h.textMax()
	if o, ok := by.(*goja.Object); ok {
		if f, ok := goja.AssertFunction(o); ok {
			total := int64(0)
			return h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
				v, err := f(c.This, c.Arguments...)
				if err != nil {
					panic(err)
				}
				s := h.toText(v)
				if total += int64(s.Length()); total > most {
					panic(h.textTooLong())
				}
				return s
			})
		}
	}
	s := h.toText(by)
	each := int64(s.Length())
	if each > 1 { // $& and the like stand for as much as all of the text
		each += int64(strings.Count(s.String(), "$")) * int64(text.Length())
	}
	if each > 0 && int64(text.Length())+1 > most/each && times() > most/each {
		panic(h.textTooLong())
	}
	return s
}

// splitText is split, by a text.
func (h *Handler) splitText(call native, c goja.FunctionCall) goja.Value {
	if _, ok := c.Argument(0).(*goja.Object); ok {
		return call(c)
	}
	text, ok := h.textOf(&c)
	if !ok || int64(text.Length()) <= h.listMax() || goja.IsUndefined(c.Argument(0)) {
		return call(c)
	}
	c.Arguments[0] = h.toText(c.Arguments[0])
	parts := int64(text.Length())
	if by := c.Arguments[0].String(); by != "" {
		parts = int64(strings.Count(text.String(), by)) + 1
	}
	if limit := c.Argument(1); !goja.IsUndefined(limit) {
		c.Arguments[1] = limit.ToNumber()
		parts = min(parts, int64(uint32(c.Arguments[1].ToInteger())))
	}
	if parts > h.listMax() {
		panic(h.tooLong(parts, "split"))
	}
	return call(c)
}

// guardRegexpSource bounds the text that an expression is made of.
func (h *Handler) guardRegexpSource(o *goja.Object) {
	guardConstructor(o, func(args []goja.Value) []goja.Value {
		if len(args) > 0 {
			s, ok := args[0].(goja.String)
			if ok && s.Length() > patternMax {
				panic(h.rangeError("a regular expression of %d characters is too long", s.Length()))
			}
			if ok && len(args) > 1 && strings.Contains(strings.ToLower(s.String()), `\p{`) && strings.Contains(args[1].String(), "u") {
				h.refuse(compile.ErrUnicodeClass)
			}
		}
		return args
	})
	h.guardRegexps(o)
}
