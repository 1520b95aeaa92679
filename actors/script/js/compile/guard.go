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

// EvaluatedName is the file name of text that a script evaluates. No file of a script has this name.
const EvaluatedName = "<eval>"

// NoSourceMaps is the engine's option for text that a script evaluates: it could name any file of the machine as its source map.
var NoSourceMaps = parser.WithSourceMapLoader(func(string) ([]byte, error) { return nil, nil })

// evaluated parses text that a script evaluates.
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

// Evaluated compiles text for an indirect eval. Its pause object is the global PauseName.
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
	if rest := tree.Body[at:]; declaresLocals(rest) { // they are not global
		tree.Body = append(slices.Clip(tree.Body[:at]), &ast.BlockStatement{LeftBrace: rest[0].Idx0(), List: rest, RightBrace: tree.Idx1()})
	}
	if program, err = goja.CompileAST(tree, false); err != nil {
		return nil, located("source", text, 0, err)
	}
	return program, nil
}

// declaresLocals reports whether a program declares names that only it may see. If it also declares functions, which are global, all names are.
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

// Function is Evaluated for a function of a kind such as "async function": sources are its parameters and, last, its body.
func Function(kind string, sources []string) (*goja.Program, error) {
	body := ""
	if last := len(sources) - 1; last >= 0 {
		sources, body = sources[:last], sources[last]
	}
	return Evaluated("(" + kind + " anonymous(" + strings.Join(sources, ",") + "\n) {\n" + body + "\n})")
}

// CheckDirect checks the source of a direct eval. The engine compiles it itself, because it sees local names. So what takes long there, or makes
// something large, cannot be bounded and is refused, except a sum that is the value of the whole text.
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
