package engine

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// kinds lists values of a script, the types that the engine uses for them, and why that matters.
var kinds = []struct{ source, name, why string }{
	{"Object", "templatedFuncObject", "built-in classes have templates, which are guarded"},
	{"Object.prototype", "templatedObject", "prototypes have templates, which are guarded"},
	{"Array.prototype", "templatedArrayObject", "it has a template, which is guarded"},
	{"Math.max", "nativeFuncObject", "built-in functions are replaced by guarded ones"},
	{"(() => {}).bind()", "boundFuncObject", "bound functions are counted"},
	{"f", "funcObject", "it has the place where a callback begins"},
	{"({})", "baseObject", "its length is a property; its size is that of its names"},
	{"(function () { return arguments; })()", "argumentsObject", "its length is a property"},
	{"[1]", "arrayObject", "its length cannot be a getter; its size is that of its elements"},
	{"(() => { const a = []; a[1e6] = 1; return a; })()", "sparseArrayObject", "its length cannot be a getter"},
	{"new String('x')", "stringObject", "its length cannot be a getter"},
	{"new Uint8Array(2)", "typedArrayObject", "it holds bytes"},
	{"new ArrayBuffer(2)", "arrayBufferObject", "it holds bytes"},
	{"new Map()", "mapObject", "its entries may be spread"},
	{"new Set()", "setObject", "its entries may be spread"},
	{"new Error()", "errorObject", "its stack is cut"},
	{"/x/", "regexpObject", "its pattern is counted"},
	{"new Proxy({}, {})", "proxyObject", "revoke holds it"},
}

// fieldsUsed lists the private fields that this package uses, their types, and why. A row without a field
// name is about the type itself.
var fieldsUsed = []struct{ of, name, is, why string }{
	{"Object", "self", "goja.objectImpl", "all else about an object is behind it"},
	{"templatedObject", "tmpl", "*goja.objectTemplate", "built-ins of all runtimes are guarded in it"},
	{"templatedFuncObject", "tmpl", "*goja.objectTemplate", "built-ins of all runtimes are guarded in it"},
	{"objectTemplate", "props", "map[unistring.String]goja.templatePropFactory", "guards are put around the makers of built-ins"},
	{"templatePropFactory", "", "func(*goja.Runtime) goja.Value", "guards are put around the makers of built-ins"},
	{"objectTemplate", "symProps", "map[*goja.Symbol]goja.templatePropFactory", "iterators are guarded"},
	{"objectTemplate", "propNames", "[]unistring.String", "BigInt is dropped from it"},
	{"nativeFuncObject", "f", "func(goja.FunctionCall) goja.Value", "guards replace it"},
	{"templatedFuncObject", "f", "func(goja.FunctionCall) goja.Value", "guards replace it"},
	{"nativeFuncObject", "construct", "func([]goja.Value, *goja.Object) *goja.Object", "guards replace it"},
	{"templatedFuncObject", "construct", "func([]goja.Value, *goja.Object) *goja.Object", "guards replace it"},
	{"valueProperty", "value", "goja.Value", "a function in a property is guarded"},
	{"valueProperty", "accessor", "bool", "a getter as length is kept from built-ins"},
	{"valueProperty", "getterFunc", "*goja.Object", "getters count how deep they are"},
	{"valueProperty", "setterFunc", "*goja.Object", "the setter of __proto__ is guarded"},
	{"baseObject", "values", "map[unistring.String]goja.Value", "functions without a template are counted; the length of an object is looked at"},
	{"baseObject", "propNames", "[]unistring.String", "the size of a plain object"},
	{"arrayObject", "values", "[]goja.Value", "the size of an array; pieces of texts in it are copied"},
	{"typedArrayObject", "length", "int", "how many keys it has"},
	{"arrayBufferObject", "data", "[]uint8", "the size of an ArrayBuffer"},
	{"mapObject", "m", "*goja.orderedMap", "how many entries it has"},
	{"setObject", "m", "*goja.orderedMap", "how many entries it has"},
	{"orderedMap", "size", "int", "how many entries it has"},
	{"errorObject", "stack", "[]goja.StackFrame", "the stack of an error is cut"},
	{"funcObject", "prg", "*goja.Program", "the place of a callback"},
	{"Program", "src", "*file.File", "the place of a callback; code that a script has evaluated is counted"},
	{"File", "name", "string", "code that a script has evaluated is counted"},
	{"Program", "srcMap", "[]goja.srcMapItem", "the place of a callback"},
	{"srcMapItem", "srcPos", "int", "the place of a callback"},
	{"Program", "code", "[]goja.instruction", "the stack grows at once before a spread"},
	{"Runtime", "vm", "*goja.vm", "calls and the stack are in it"},
	{"Runtime", "jobQueue", "[]func()", "promise jobs outlive an overflow"},
	{"vm", "prg", "*goja.Program", "the stack grows at once before a spread"},
	{"vm", "pc", "int", "the stack grows at once before a spread"},
	{"vm", "stack", "goja.valueStack", "the stack grows at once before a spread"},
	{"valueStack", "", "[]goja.Value", "the stack grows at once before a spread"},
	{"vm", "callStack", "[]goja.context", "how deep recursion is"},
	{"Promise", "fulfillReactions", "[]*goja.promiseReaction", "closures are found in it"},
	{"Promise", "rejectReactions", "[]*goja.promiseReaction", "closures are found in it"},
	{"promiseReaction", "handler", "*goja.jobCallback", "closures are found in it"},
	{"jobCallback", "callback", "func(goja.FunctionCall) goja.Value", "closures are found in it"},
	{"regexpPattern", "src", "string", "the size of a regular expression"},
	{"regexpPattern", "regexpWrapper", "*goja.regexpWrapper", "the size of a regular expression"},
	{"regexpWrapper", "prog", "*syntax.Prog", "the size of a regular expression"},
	{"regexpWrapper", "onepass", "*regexp.onePassProg", "the size of a regular expression"},
	{"onePassProg", "Inst", "[]regexp.onePassInst", "the size of a regular expression"},
	{"asciiString", "", "string", "a piece of such a text is no copy"},
	{"_pushSpread", "", "struct {}", "the instruction before which the stack grows"},
	{"iterNext", "", "int32", "an instruction that drops the result of an iterator"},
	{"iterGetNextOrUndef", "", "struct {}", "an instruction that drops the result of an iterator"},
}

// TestTheEngineIsAsExpected fails with an explanation for each kind, field, closure and behavior that this
// package relies on and that has changed.
func TestTheEngineIsAsExpected(t *testing.T) {
	vm := goja.New()
	value := func(source string) goja.Value {
		t.Helper()
		v, err := vm.RunScript("folder/place.js", source)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	object := func(source string) *goja.Object { t.Helper(); return value(source).ToObject(vm) }
	value("\n\nfunction f() { return g(); }; function g() { return look(); }; var iterator = [].values();")

	types := make(map[string]reflect.Type)
	collect(types, reflect.TypeFor[*goja.Runtime]())
	collect(types, reflect.TypeFor[*goja.Promise]())
	collect(types, reflect.TypeOf(value("'x'")))
	collect(types, reflect.TypeOf(Members(object("({ get x() { return 1; } })"))["x"]))
	for _, k := range kinds {
		in := inside(object(k.source)).Type()
		if in.Name() != k.name {
			t.Errorf("%s is a %s, no longer a %s: %s", k.source, in.Name(), k.name, k.why)
		}
		collect(types, in)
	}
	if code := field(reflect.ValueOf(goja.MustCompile("", "f(...x); for (x of []); [x] = []", false)).Elem(), "code"); code.IsValid() {
		for i := range code.Len() {
			collect(types, code.Index(i).Elem().Type())
		}
	}
	for _, f := range fieldsUsed {
		of := types[f.of]
		switch {
		case of == nil:
			t.Errorf("there is no type %s any more: %s", f.of, f.why)
		case f.name == "":
			if is := underlying(of); is != f.is {
				t.Errorf("%s is %s, no longer %s: %s", f.of, is, f.is, f.why)
			}
		default:
			at := field(reflect.New(of).Elem(), f.name)
			if !at.IsValid() {
				t.Errorf("%s has no field %s any more: %s", f.of, f.name, f.why)
			} else if is := at.Type().String(); is != f.is {
				t.Errorf("the field %s of %s is %s, no longer %s: %s", f.name, f.of, is, f.is, f.why)
			}
		}
	}
	if t.Failed() {
		return // the rest would panic
	}
	spreads, jobs, depth := false, 0, 0
	if err := vm.Set("look", func(goja.FunctionCall) goja.Value {
		spreads, jobs, depth = Spreads(vm), len(*Jobs(vm)), CallsOf(vm).Depth()
		return vm.Get("iterator")
	}); err != nil {
		t.Fatal(err)
	}
	looked := func(source string) (bool, int, int) { value(source); return spreads, jobs, depth }
	for _, missing := range learnAll().missing {
		t.Errorf("%s: what it holds is not counted", missing)
	}
	if t.Failed() {
		return
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"a spread", func() bool { is, _, _ := looked("Math.max(...{ [Symbol.iterator]: look })"); return is }(), true},
		{"a loop", func() bool { is, _, _ := looked("for (const x of { [Symbol.iterator]: look }) ;"); return is }(), false},
		{"a job that waits", func() int { _, n, _ := looked("Promise.resolve().then(() => {}); look()"); return n }(), 1},
		{"the depth of f and g", func() int { _, _, outer := looked("look()"); _, _, inner := looked("f()"); return inner - outer }(), 2},
		{"the place of f", func() string { name, line, ok := Place(object("f")); return fmt.Sprintln(name, line, ok) }(), "place.js 3 true\n"},
		{"a text of ASCII", ASCII(value("'x'.repeat(9)").(goja.String)), true},
		{"a text that is not", ASCII(value("'\u00e4x'").(goja.String)), false},
		{"the frames of an error", len(*Stack(object("(() => new Error())()"))), 2},
		{"the elements of an array of bytes", Elements(value("new Uint16Array(5)")), int64(5)},
		{"the entries of a map", Entries(value("new Map([[1, 2], [3, 4]])")), int64(2)},
		{"a length that is a getter", LengthStays(object("({ get length() { return 1; } })")), false},
		{"a length that is an object", LengthStays(object("({ length: {} })")), false},
		{"a length that is a number", LengthStays(object("({ length: 1 })")), true},
		{"a length that is frozen", LengthStays(object("Object.freeze({ length: 1 })")), true},
		{"the bytes of an ArrayBuffer", Bytes(object("new ArrayBuffer(1000)")), int64(1000)},
		{"the elements of an array", len(List(object("[1, 2, 3]"))), 3},
		{"the members of an array", Members(object("[1]")) == nil, true},
		{"what a runtime holds more with a large text", func() bool {
			before := Held(math.MaxInt64, vm)
			value("const bound = f.bind(null, 'x'.repeat(1 << 20))")
			b := object("bound")
			Bound(b, []goja.Value{value("'x'.repeat(1 << 20)")})
			more := Held(math.MaxInt64, vm) - before
			return more > 1<<20 && more < 2<<20
		}(), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, no longer %v", c.what, c.got, c.want)
		}
	}
}

// collect adds a type and all types reachable from it to types.
func collect(types map[string]reflect.Type, of reflect.Type) {
	if of.Name() != "" {
		if types[of.Name()] != nil || of.PkgPath() == "" {
			return
		}
		types[of.Name()] = of
	}
	switch of.Kind() {
	case reflect.Map:
		collect(types, of.Key())
		collect(types, of.Elem())
	case reflect.Pointer, reflect.Slice:
		collect(types, of.Elem())
	case reflect.Struct:
		for i := range of.NumField() {
			collect(types, of.Field(i).Type)
		}
	}
}

// underlying returns the underlying type of a named type.
func underlying(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Slice:
		return "[]" + of.Elem().String()
	case reflect.Func:
		return fmt.Sprintf("func(%v) %v", of.In(0), of.Out(0))
	case reflect.Struct:
		return map[bool]string{true: "struct {}", false: "a struct with fields"}[of.NumField() == 0]
	}
	return of.Kind().String()
}

// Every name of a field or type that the code of this package uses must be in the tables.
func TestAllThatIsUsedIsExpected(t *testing.T) {
	known := map[string]bool{"math/big": true}
	for _, f := range fieldsUsed {
		known[f.of], known[f.name] = true, true
	}
	for _, k := range kinds {
		known[k.name] = true
	}
	files, _ := filepath.Glob("*.go")
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		names := func(list ...ast.Expr) {
			for _, e := range list {
				if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, _ := strconv.Unquote(lit.Value); s != "" && !known[s] {
						t.Errorf("%v: %q is in no table", set.Position(lit.Pos()), s)
					}
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				f := n.Fun
				if generic, ok := f.(*ast.IndexExpr); ok {
					f = generic.X
				}
				if id, ok := f.(*ast.Ident); ok && (id.Name == "field" || id.Name == "fieldOf") {
					names(n.Args...)
				}
			case *ast.CaseClause:
				names(n.List...)
			case *ast.BinaryExpr:
				if n.Op == token.EQL {
					names(n.X, n.Y)
				}
			}
			return true
		})
	}
}
