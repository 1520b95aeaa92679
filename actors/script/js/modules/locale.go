package modules

import (
	"regexp"
	"strings"

	"github.com/dop251/goja"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// localized are the methods that print and compare for people, as Node.js does for
// en-US whatever the locale is: the engine has its own idea of them, without options.
// They are of Go, as functions of JavaScript would cost each runtime more.
var localized = map[string]func(*Loader, goja.FunctionCall) goja.Value{
	"number":  func(l *Loader, c goja.FunctionCall) goja.Value { return l.numberToLocale("Number", c) },
	"bigint":  func(l *Loader, c goja.FunctionCall) goja.Value { return l.numberToLocale("BigInt", c) },
	"moment":  func(l *Loader, c goja.FunctionCall) goja.Value { return l.dateToLocale("toLocaleString", c) },
	"date":    func(l *Loader, c goja.FunctionCall) goja.Value { return l.dateToLocale("toLocaleDateString", c) },
	"time":    func(l *Loader, c goja.FunctionCall) goja.Value { return l.dateToLocale("toLocaleTimeString", c) },
	"compare": (*Loader).localeCompare,
}

// choices reads the options of such a method, each once.
type choices struct {
	l      *Loader
	method string
	object *goja.Object // nil: none are given
}

var localeForm = regexp.MustCompile(`^$|^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

func (l *Loader) choices(method string, locales, options goja.Value) *choices {
	r, c := l.runtime, &choices{l: l, method: method}
	check := func(v goja.Value) {
		if !localeForm.MatchString(v.String()) {
			panic(c.out("Incorrect locale information provided"))
		}
	}
	switch v := locales.(type) {
	case goja.String:
		check(v)
	case *goja.Object:
		if v.ClassName() == "Array" {
			r.ForOf(v, func(item goja.Value) bool { check(item); return true })
		}
	default:
		if goja.IsNull(v) {
			panic(r.NewTypeError("Cannot convert undefined or null to object"))
		}
	}
	if goja.IsNull(options) && !strings.HasPrefix(method, "Date") {
		panic(r.NewTypeError("%s called on null or undefined", method))
	}
	if !goja.IsUndefined(options) {
		c.object = options.ToObject(r)
	}
	return c
}

func (c *choices) out(message string) *goja.Object {
	e, err := c.l.runtime.New(c.l.runtime.Get("RangeError"), c.l.runtime.ToValue(message))
	must(err)
	return e
}

// get returns an option; nil: it is not given.
func (c *choices) get(name string) goja.Value {
	if c.object == nil {
		return nil
	}
	if v := c.object.Get(name); v != nil && !goja.IsUndefined(v) {
		return v
	}
	return nil
}

// one returns an option that must be one of the words; empty: it is not given.
func (c *choices) one(name string, words ...string) string {
	v := c.get(name)
	if v == nil {
		return ""
	}
	s := v.String()
	for _, w := range words {
		if s == w {
			return s
		}
	}
	panic(c.out("Value " + s + " out of range for " + c.method + " options property " + name))
}

// number returns an option that must be a number in a range, or without.
func (c *choices) number(name string, low, high, without int) int {
	v := c.get(name)
	if v == nil {
		return without
	}
	f := v.ToFloat()
	if !(f >= float64(low) && f <= float64(high)) {
		panic(c.out(name + " value is out of range."))
	}
	return int(f)
}

func (c *choices) absent(what string) {
	panic(c.l.runtime.NewTypeError("%s of %s is not available in the embedded engine; %s", what, c.method, useNode))
}

// localeCompare is the method of strings. Its collators are kept, as a sort asks often.
func (l *Loader) localeCompare(call goja.FunctionCall) goja.Value {
	r := l.runtime
	if goja.IsUndefined(call.This) || goja.IsNull(call.This) {
		panic(r.NewTypeError("String.prototype.localeCompare called on null or undefined"))
	}
	a, b := call.This.String(), call.Argument(0).String()
	kind := collation{}
	if !goja.IsUndefined(call.Argument(1)) || !goja.IsUndefined(call.Argument(2)) {
		c := l.choices("String.prototype.localeCompare", call.Argument(1), call.Argument(2))
		kind.sensitivity = c.one("sensitivity", "base", "accent", "case", "variant")
		if v := c.get("numeric"); v != nil {
			kind.numeric = v.ToBoolean()
		}
	}
	collator := l.collators[kind]
	if collator == nil {
		if l.collators == nil {
			l.collators = make(map[collation]*collate.Collator)
		}
		collator = kind.collator()
		l.collators[kind] = collator
	}
	return r.ToValue(collator.CompareString(norm.NFD.String(a), norm.NFD.String(b)))
}

// collation is a way to compare.
type collation struct {
	sensitivity string
	numeric     bool
}

func (k collation) collator() *collate.Collator {
	var options []collate.Option
	if k.numeric {
		options = append(options, collate.Numeric)
	}
	switch k.sensitivity {
	case "base":
		options = append(options, collate.Loose)
	case "accent":
		options = append(options, collate.IgnoreCase)
	case "case":
		options = append(options, collate.IgnoreDiacritics)
	}
	return collate.New(language.Und, options...)
}
