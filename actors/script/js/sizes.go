package js

import (
	"math"
	"reflect"
	"regexp"

	"github.com/dop251/goja"
)

// sizes says which functions a file names whose result may be of any size, a bit each.
// The memory for it is asked for at once: if the system refuses, that is the end of the
// host, and nothing recovers from it. So what would be more than a call may take, or than
// Node.js has, is refused before, in the words of Node.js. Buffer has its own bound.
type sizes uint16

const (
	sizeOfStrings sizes = 1 << (15 - iota)
	sizeOfLists
	timeOfRegexps // not of any size, but it may take any time
	sizesOfTypes  = timeOfRegexps - 1
)

// sizedTypes are the constructors of what holds bytes; each takes 5 to 10 KiB.
var sizedTypes = [...]string{"ArrayBuffer", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array",
	"Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"}

var (
	namesStrings = regexp.MustCompile(`\brepeat\b|\bpad(?:Start|End)\b`)
	namesLists   = regexp.MustCompile(`\bsort\b|\btoSorted\b|\bapply\b`)
	namesTypes   = regexp.MustCompile(`\b(?:ArrayBuffer|(?:Big)?(?:Ui|I)nt(?:8|16|32|64)(?:Clamped)?Array|Float(?:32|64)Array)\b`)
)

func sizesOf(source []byte) (s sizes) {
	if namesStrings.Match(source) {
		s |= sizeOfStrings
	}
	if namesLists.Match(source) {
		s |= sizeOfLists
	}
	if namesRegexps.Match(source) {
		s |= timeOfRegexps
	}
	for _, name := range namesTypes.FindAll(source, -1) {
		for i, known := range sizedTypes {
			if string(name) == known {
				s |= 1 << i
			}
		}
	}
	return s
}

// guardSizes bounds what a file of the script names, before it runs: many a bundle has
// files that never do.
func (h *Handler) guardSizes(file string) {
	unit := h.program.unit
	n := unit.Memo("sizes "+file, func() any { return sizesOf(unit.Files()[file]) }).(sizes) &^ h.sizes
	h.sizes |= n
	if n&sizeOfStrings != 0 {
		h.unlessBroken(h.guardStrings)
	}
	if n&sizeOfLists != 0 {
		h.unlessBroken(h.guardLists)
	}
	if n&timeOfRegexps != 0 {
		h.unlessBroken(h.guardRegexps)
	}
	if n&sizesOfTypes != 0 {
		h.unlessBroken(func() {
			_, err := h.create(guardProgram(), h.host, h.vm.GlobalObject(), h.vm.ToValue(false), h.vm.ToValue(false), h.sizedNames(n))
			must(err)
		})
	}
}

// unlessBroken bounds something, if files that ran before have left it as it was: what they
// have frozen or taken away stays as it is.
func (h *Handler) unlessBroken(guard func()) {
	if err := h.attempt(guard); err != nil && isAbrupt(err) {
		panic(err)
	}
}

// sizedNames is the names in s, for guard.js.
func (h *Handler) sizedNames(s sizes) goja.Value {
	var names []any
	for i, name := range sizedTypes {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return h.vm.NewArray(names...)
}

// sized is host.sized(constructor): the same one, with a bound. guard.js gives it the properties.
func (h *Handler) sized(c goja.FunctionCall) goja.Value {
	original := c.Argument(0).ToObject(h.vm)
	construct, _ := goja.AssertConstructor(original)
	most, typed := h.sizeMax(), false
	if v := original.Get("BYTES_PER_ELEMENT"); v != nil {
		most, typed = most/v.ToInteger(), true
	}
	var guard *goja.Object
	guard = h.vm.ToValue(func(c goja.ConstructorCall) *goja.Object {
		if !typed && len(c.Arguments) > 0 {
			c.Arguments[0] = c.Arguments[0].ToNumber()
		}
		if n, ok := h.lengthOf(c.Argument(0)); ok && n > float64(most) {
			panic(h.rangeError("Array buffer allocation failed"))
		}
		target := c.NewTarget
		if target == guard {
			target = original
		}
		made, err := construct(target, c.Arguments...)
		if err != nil {
			panic(err)
		}
		return made
	}).(*goja.Object)
	return guard
}

// lengthOf returns what a constructor of what holds bytes takes for a length: a primitive, or
// what an array-like object says.
func (h *Handler) lengthOf(v goja.Value) (n float64, ok bool) {
	o, isObject := v.(*goja.Object)
	if !isObject {
		_, isSymbol := v.(*goja.Symbol)
		return v.ToFloat(), !isSymbol
	}
	if t := o.ExportType(); t == bytesType || t == bufferType || o.GetSymbol(goja.SymIterator) != nil {
		return 0, false
	}
	if v = o.Get("length"); v == nil {
		return 0, false
	}
	return v.ToFloat(), true
}

var bufferType = reflect.TypeFor[goja.ArrayBuffer]()

// stringMax is how many characters a string of Node.js may have.
const stringMax = 1<<29 - 24

// sizeMax is how many bytes may be asked for at once.
func (h *Handler) sizeMax() int64 {
	if limit := h.program.limits.MemoryMax; limit > 0 {
		return limit
	}
	return 1 << 32
}

// guardStrings bounds what repeat, padStart and padEnd make.
func (h *Handler) guardStrings() {
	prototype := h.vm.Get("String").ToObject(h.vm).Get("prototype").ToObject(h.vm)
	limit := min(stringMax, h.sizeMax())
	guard := func(name string, tooLong func(text goja.String, n int64, rest []goja.Value) bool) {
		method, length := function(prototype, name), prototype.Get(name).ToObject(h.vm).Get("length").ToInteger()
		h.replace(prototype, name, int(length), func(c goja.FunctionCall) goja.Value {
			if goja.IsUndefined(c.This) || goja.IsNull(c.This) || len(c.Arguments) == 0 {
				return nil
			}
			text, ok := c.This.ToString().(goja.String)
			if !ok {
				return nil
			}
			c.This, c.Arguments[0] = text, c.Arguments[0].ToNumber() // converted once
			if n := c.Arguments[0].ToInteger(); tooLong(text, n, c.Arguments[1:]) {
				panic(h.rangeError("Invalid string length"))
			}
			return method(c)
		})
	}
	guard("repeat", func(text goja.String, n int64, _ []goja.Value) bool {
		return text.Length() > 0 && n > limit/int64(text.Length()) && n < math.MaxInt64 // infinity has words of its own
	})
	pad := func(text goja.String, n int64, filler []goja.Value) bool {
		if n <= max(limit, int64(text.Length())) {
			return false
		}
		if len(filler) > 0 && !goja.IsUndefined(filler[0]) {
			filler[0] = filler[0].ToString()
			return filler[0].String() != ""
		}
		return true
	}
	guard("padStart", pad)
	guard("padEnd", pad)
}

// guardLists bounds the lists that sort and apply make of an array, which may be nearly empty, or of
// what says that it has a length.
func (h *Handler) guardLists() {
	const size = 16 // of a value
	most := h.sizeMax() / size
	bound := func(o *goja.Object, name string, length int, list func(goja.FunctionCall) goja.Value) {
		h.replace(o, name, length, func(c goja.FunctionCall) goja.Value {
			if o, ok := list(c).(*goja.Object); ok {
				if n := o.Get("length"); n != nil && n.ToInteger() > most {
					panic(h.rangeError("a list of %d is too long for %s in the embedded engine", n.ToInteger(), name))
				}
			}
			return nil
		})
	}
	prototype := func(class string) *goja.Object {
		return h.vm.Get(class).ToObject(h.vm).Get("prototype").ToObject(h.vm)
	}
	this := func(c goja.FunctionCall) goja.Value { return c.This }
	bound(prototype("Array"), "sort", 1, this)
	bound(prototype("Array"), "toSorted", 1, this)
	bound(prototype("Function"), "apply", 2, func(c goja.FunctionCall) goja.Value { return c.Argument(1) })
	bound(h.vm.Get("Reflect").ToObject(h.vm), "apply", 3, func(c goja.FunctionCall) goja.Value { return c.Argument(2) })
}
