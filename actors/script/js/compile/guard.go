package compile

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// EvaluatedName is the file name of source that a script passes to eval or a function constructor. No file of
// a bundle has this name.
const EvaluatedName = "<eval>"

// NoSourceMaps makes the parser ignore source maps in evaluated source. Such source could name any file of
// the machine as its source map.
var NoSourceMaps = parser.WithSourceMapLoader(func(string) ([]byte, error) { return nil, nil })

// evaluated parses source that a script evaluates, within the limits of SourceMax and check.
func evaluated(text string) (*ast.Program, error) {
	if len(text) > SourceMax {
		return nil, &Error{File: "source", Message: "it is too long"}
	}
	if err := check("source", text); err != nil {
		return nil, err
	}
	tree, err := parser.ParseFile(nil, EvaluatedName, text, 0, NoSourceMaps)
	if err != nil {
		return nil, located("source", text, 0, err)
	}
	return tree, nil
}

// Evaluated compiles the source of an indirect eval. The program reads its pause object from the global
// variable PauseName.
func Evaluated(text string) (program *goja.Program, err error) {
	defer whatPanics("source", &err)
	tree, err := evaluated(text)
	if err != nil {
		return nil, err
	}
	if err := mend("source", tree, true); err != nil {
		return nil, err
	}
	at := max(0, slices.IndexFunc(tree.Body, func(s ast.Statement) bool { return !directive(s) }))
	if rest := tree.Body[at:]; declaresLocals(rest) { // these declarations must not become global
		tree.Body = append(slices.Clip(tree.Body[:at]), &ast.BlockStatement{LeftBrace: rest[0].Idx0(), List: rest, RightBrace: tree.Idx1()})
	}
	if program, err = goja.CompileAST(tree, false); err != nil {
		return nil, located("source", text, 0, err)
	}
	return program, nil
}

// declaresLocals reports whether the declarations of an eval must be local to it: it has let, const or class
// declarations. If there is also a function declaration, which must become global, declaresLocals returns
// false, and all names become global.
func declaresLocals(body []ast.Statement) (locals bool) {
	for _, s := range body {
		switch s.(type) {
		case *ast.LexicalDeclaration, *ast.ClassDeclaration:
			locals = true
		case *ast.FunctionDeclaration:
			return false
		}
	}
	return locals
}

// Function compiles the source of a function constructor. kind is the kind of function, such as "async
// function". sources are the parameters, and last the body.
func Function(kind string, sources []string) (*goja.Program, error) {
	body := ""
	if last := len(sources) - 1; last >= 0 {
		sources, body = sources[:last], sources[last]
	}
	return Evaluated("(" + kind + " anonymous(" + strings.Join(sources, ",") + "\n) {\n" + body + "\n})")
}

// CheckDirect checks the source of a direct eval. The engine itself compiles this source, because it can use
// local names, so the source cannot be instrumented. CheckDirect therefore refuses loops, functions, classes,
// and operators whose result may be large. The one exception is an addition that is the value of the whole
// source: the caller reports that value.
func CheckDirect(text string) error {
	tree, err := evaluated(text)
	if err != nil {
		return err
	}
	if err := cmp.Or(checkBigInt("source", tree), checkWith("source", tree), withEvalSources("source", tree, true)); err != nil {
		return err
	}
	refused := false
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		switch node.(type) {
		case *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement, *ast.DoWhileStatement,
			*ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
			refused = true
		}
		refused = refused || restOf(node) != nil
		if e, ok := node.(ast.Expression); ok && large(e) {
			only, alone := tree.Body[0].(*ast.ExpressionStatement)
			_, sum := e.(*ast.BinaryExpression)
			refused = refused || !sum || !alone || len(tree.Body) > 1 || only.Expression != e
		}
		return !refused
	})
	if refused {
		return &Error{File: "source", final: true, Message: "the embedded engine's direct eval takes no loop, function, class, addition, template, spread or rest: write (0, eval)(text); " + UseNode}
	}
	return nil
}
