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

// A built-in may create or read a list or a text of any size. It allocates all the memory at once, and if the
// system refuses, the process ends. It also cannot be interrupted. So a guard refuses sizes above the limits
// of a call, or above those of Node.js. Buffer has a limit of its own.

const (
	// textsMax is the maximum length of a text in characters, and listsMax the maximum number of elements of
	// a list that is passed to a built-in. The garbage collector waits while a built-in copies: with texts of
	// 64 MiB, all other game sessions were delayed by 40 to 600 ms.
	textsMax = 4 << 20
	listsMax = 1 << 20
	// longList is the number of elements from which a built-in may take long for a list.
	longList      = 1 << 12
	containerSize = 256     // estimated size in bytes of an array or an object
	patternMax    = 1 << 20 // maximum length in characters of a regular expression that is made from text
)

// sizedTypes are the classes whose objects hold raw bytes.
var sizedTypes = [...]string{"ArrayBuffer", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array",
	"Float32Array", "Float64Array"}

// sizeMax returns how many bytes a built-in may allocate at once.
func (h *Handler) sizeMax() int64 {
	if limit := h.program.limits.MemoryMax; limit > 0 {
		return limit
	}
	return 1 << 32
}

// listMax and textMax return the limits on the elements of a list and the characters of a text that a
// built-in may use. They are a fraction of sizeMax, because a built-in makes several copies.
func (h *Handler) listMax() int64 { return min(listsMax, h.sizeMax()/engine.ValueSize) }
func (h *Handler) textMax() int64 { return min(textsMax, h.sizeMax()/4) }

// makers are built-ins that return a new value, which may be large. The watchdog counts the size of the
// value.
var makers = map[string][]string{
	"Array":  {"concat", "fill", "filter", "flat", "flatMap", "join", "map", "slice", "splice", "toReversed", "toSorted", "toSpliced", "with"},
	"String": {"concat", "normalize", "padEnd", "padStart", "repeat", "replace", "replaceAll", "split", "toLowerCase", "toUpperCase"},
}

// sized reports the size of a new value to the watchdog if it is large, and returns the value. It throws if a
// text is too long.
func (h *Handler) sized(v goja.Value) goja.Value {
	switch v := v.(type) {
	case goja.String:
		n := int64(v.Length())
		if h.boundLength(n); n >= watchdog.LargePiece {
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

// weigh reports to the watchdog that the call has allocated bytes, if that is at least watchdog.LargePiece.
func (h *Handler) weigh(bytes int64) {
	if bytes >= watchdog.LargePiece && h.watch != nil {
		h.watch.Made(bytes)
		h.endIfInterrupted()
	}
}

// boundMade throws if n values of size each exceed sizeMax. Otherwise it reports their total size to the
// watchdog.
func (h *Handler) boundMade(n, each int64, what string) {
	if n > h.sizeMax()/each {
		panic(h.tooLong(n, what))
	}
	h.weigh(n * each)
}

// guardCollection limits the size of the array from which a Map or Set is created.
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

// boundLength throws if n is more than the maximum length of a text.
func (h *Handler) boundLength(n int64) {
	if n > h.textMax() {
		panic(h.textTooLong())
	}
}

// lengthOf returns the property length as an integer.
func lengthOf(o *goja.Object) int64 {
	v := o.Get("length")
	switch v.(type) {
	case nil, *goja.Symbol:
		return 0
	}
	return v.ToInteger()
}

func propertyOf(o *goja.Object, name string) goja.Value { return cmp.Or(o.Get(name), goja.Undefined()) }
func indexText(i int64) string                          { return strconv.FormatInt(i, 10) }

// boundList returns the length of v. It throws if the length exceeds listMax.
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

// boundText throws if a text has more characters than a list may have elements.
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

// boundEncoded throws if a text could become too long when it is URI-encoded, which can make it nine times as
// long.
func (h *Handler) boundEncoded(c goja.FunctionCall) {
	if s, ok := c.Argument(0).(goja.String); ok && int64(s.Length()) > h.textMax()/9 {
		panic(h.textTooLong())
	}
}

// listed limits the length of the list on which a built-in is called. The built-in has no yield points.
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

// iterated is listed for a built-in that returns an iterator.
func iterated(name string) guarding {
	return guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value {
		n, _ := h.pinThis(&c, name)
		h.spread(n)
		return h.countNext(call(c))
	})
}

// iteratedBytes is iterated for typed arrays, whose length cannot change.
func iteratedBytes(name string) guarding {
	return guardInstead(func(h *Handler, call native, c goja.FunctionCall) goja.Value {
		h.spread(h.boundList(c.This, name))
		return h.countNext(call(c))
	})
}

const spreadMax = 1 << 17 // maximum number of elements that can be spread into the arguments of a call, about the same as in Node.js

// spread is called before n elements are iterated over. If they will become arguments of a call, spread
// limits n and grows the engine's stack for them.
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

// guardValues guards the iterators of arrays, and guardTypedValues those of typed arrays.
var guardValues = guardObject("values", func(h *Handler, o *goja.Object) { iterated("values")(h, o) })

var guardTypedValues = guardObject("typed values", func(h *Handler, o *goja.Object) { iteratedBytes("values")(h, o) })

// typedGuards guards the prototype of typed arrays. A list of their elements takes more memory than the bytes
// themselves.
func typedGuards() map[string]guarding {
	return map[string]guarding{
		"join":           guardCall(func(h *Handler, c goja.FunctionCall) { h.boundList(c.This, "join") }),
		"toLocaleString": guardCall(func(h *Handler, c goja.FunctionCall) { h.boundList(c.This, "toLocaleString") }),
		"entries":        iteratedBytes("entries"), "keys": iteratedBytes("keys"), "values": guardTypedValues,
	}
}

func (h *Handler) guardArrayFrom(array *goja.Object) {
	guardFunction(array.Get("from").(*goja.Object), func(from native, c goja.FunctionCall) goja.Value {
		n := h.boundList(c.Argument(0), "Array.from")
		if o, ok := c.Argument(0).(*goja.Object); ok {
			c.Arguments[0] = h.source(o, n)
		}
		return h.sized(from(c))
	})
}

func isArray(o *goja.Object) bool {
	o = behindProxies(o)
	return o.ClassName() == "Array" && !isProxy(o)
}

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

func (h *Handler) texts(list *goja.Object, n int64, separator goja.String) goja.Value {
	if slices.Contains(h.joining, list) { // the list contains itself
		return h.vm.ToValue("")
	}
	h.joining = append(h.joining, list)
	defer func() { h.joining = h.joining[:len(h.joining)-1] }()
	var b goja.StringBuilder
	total := int64(0)
	add := func(s goja.String) {
		total += int64(s.Length())
		h.boundLength(total)
		b.WriteString(s)
	}
	for i := range n {
		h.lookAt(i)
		if i > 0 {
			add(separator)
		}
		if v := list.Get(indexText(i)); v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
			add(h.toText(v))
		}
	}
	return b.String()
}

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

// guardSized limits the constructor of a class of sizedTypes.
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
			n = 0 // n may be NaN
		}
		if o, ok := args[0].(*goja.Object); ok && typed && !engine.HoldsBytes(o) {
			args[0] = h.source(o, int64(n))
		}
		return args
	})
}

// lengthGiven returns the length that a constructor of sizedTypes derives from its argument. ok is false if
// there is none.
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
	case bufferType: // the constructor does not copy the buffer
		return 0, false
	}
	if v = o.Get("length"); v == nil {
		return 0, false
	}
	return v.ToFloat(), true
}

var bytesType, bufferType = reflect.TypeFor[[]byte](), reflect.TypeFor[goja.ArrayBuffer]()

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

// usesRegexps runs before built-ins that create a regular expression from text.
func (h *Handler) usesRegexps(goja.FunctionCall) { h.uses(compile.UseRegExp) }

// toText implements ToString of the language specification. The engine's ToString does not convert numbers
// and other primitive values to strings.
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

// textOf converts the receiver of a string method to a text. It returns false if the receiver is null or
// undefined; the engine then throws.
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
		if text.Length() > 0 && n > h.textMax()/int64(text.Length()) && n < math.MaxInt64 { // for infinity, the engine throws itself
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
			total += int64(s.Length())
			h.boundLength(total)
		}
	}
	return call(c)
}

// replaceText guards replace and replaceAll with a text as the pattern. Regular expressions have their own
// limits.
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

// boundReplacement wraps a replacement so that it throws if the result becomes too long. times returns how
// often the replacement is used.
func (h *Handler) boundReplacement(text goja.String, by goja.Value, times func() int64) goja.Value {
	most := h.textMax()
	if f, ok := goja.AssertFunction(by); ok {
		total := int64(0)
		return h.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			s := h.toText(returned(f(c.This, c.Arguments...)))
			total += int64(s.Length())
			h.boundLength(total)
			return s
		})
	}
	s := h.toText(by)
	each := int64(s.Length())
	if each > 1 { // $& and similar patterns insert up to the whole text
		each += int64(strings.Count(s.String(), "$")) * int64(text.Length())
	}
	if each > 0 && int64(text.Length())+1 > most/each && times() > most/each {
		panic(h.textTooLong())
	}
	return s
}

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

// guardRegexpSource limits the length of the text from which a regular expression is created.
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
