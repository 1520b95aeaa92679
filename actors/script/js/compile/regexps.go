package compile

import (
	"reflect"
	"strings"
	"sync"

	"github.com/dop251/goja/ast"
)

// checkRegexps refuses regular expressions that the engine would misinterpret, or would reject only at run
// time.
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

// ErrUnicodeClass is the error for \p{...} in a regular expression that a script makes at run time. The
// engine would match the letters literally.
var ErrUnicodeClass error = &Error{final: true, Message: Lacks(unicodeClass)}

// walk calls f for each node of a tree that is a pointer. It visits the children of a node unless f returns
// false. The depth of recursion is bounded, because check has limited the nesting.
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

// fields caches the results of fieldsOf, which would take longer than the rest of walk.
var fields sync.Map

// fieldsOf returns the indexes of the fields of a node that may contain other nodes.
func fieldsOf(t reflect.Type) []int {
	if known, ok := fields.Load(t); ok {
		return known.([]int)
	}
	var in []int
	for i := range t.NumField() {
		// DeclarationList repeats, for the scope, declarations that other fields contain.
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
	case reflect.Interface: // the type of a number's value, any, has no methods
		return t.NumMethod() > 0
	case reflect.Slice:
		return holdsNodes(t.Elem())
	}
	return false
}
