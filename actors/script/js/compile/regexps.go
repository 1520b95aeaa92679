package compile

import (
	"reflect"
	"strings"
	"sync"

	"github.com/dop251/goja/ast"
)

// checkRegexps refuses regular expressions that the engine would take for something else, or fail
// with only when they are reached.
func checkRegexps(name string, tree *ast.Program) error {
	var err error
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		r, ok := node.(*ast.RegExpLiteral)
		if !ok {
			return true
		}
		what := ""
		switch odd := strings.IndexAny(r.Flags, "vd"); {
		case odd >= 0:
			what = "the flag " + r.Flags[odd:odd+1] + " of a regular expression"
		case strings.Contains(r.Flags, "u") && (strings.Contains(r.Pattern, `\p{`) || strings.Contains(r.Pattern, `\P{`)):
			what = unicodeClass
		}
		if what != "" && err == nil {
			err = lacking(name, tree, r.Idx, what)
		}
		return true
	})
	return err
}

const unicodeClass = `\p{...} in a regular expression`

// ErrUnicodeClass is the error of one that a script makes of a text: the engine would take it for letters.
var ErrUnicodeClass error = &Error{final: true, Message: Lacks(unicodeClass)}

// walk calls f for each node of a syntax tree that is a pointer, and then for those in
// it unless f returns false. Its depth is that of the source, which is bounded.
func walk(v reflect.Value, f func(node any) (into bool)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct && f(v.Interface()) {
			walk(v.Elem(), f)
		}
	case reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), f)
		}
	case reflect.Struct:
		for _, i := range fieldsOf(v.Type()) {
			walk(v.Field(i), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), f)
		}
	}
}

// fields has what fieldsOf returned: to ask for the fields of a type takes longer than
// all else of a walk.
var fields sync.Map

// fieldsOf returns which fields of a node may hold other nodes.
func fieldsOf(t reflect.Type) []int {
	if known, ok := fields.Load(t); ok {
		return known.([]int)
	}
	var in []int
	for i := range t.NumField() {
		// Declarations are listed a second time, for their scope.
		if f := t.Field(i); f.IsExported() && f.Name != "DeclarationList" && holdsNodes(f.Type) {
			in = append(in, i)
		}
	}
	fields.Store(t, in)
	return in
}

func holdsNodes(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Struct:
		return true
	case reflect.Interface: // the value of a number is one without methods
		return t.NumMethod() > 0
	case reflect.Slice:
		return holdsNodes(t.Elem())
	}
	return false
}
