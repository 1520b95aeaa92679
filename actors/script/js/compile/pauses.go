package compile

import (
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/unistring"
)

// PauseName is the name of the pause object. Compiled code reads one of its properties (the yield point) at
// every loop iteration and function entry. Scripts cannot use the name, because it contains a space.
const PauseName = "troupe pause"

const (
	pauseName     unistring.String = PauseName
	pauseProperty unistring.String = "at"   // reading this property is the yield point; its value is not used
	sizeProperty  unistring.String = "size" // the code assigns values that may be large to this property
)

// EvalSource is the property of the pause object that gets the source of each direct eval: eval(x) becomes
// eval(pause.source(x)).
const EvalSource = "source"

// Some syntax uses a built-in class without naming it. A file with such syntax first reads the property of
// the pause object for that class.
const (
	UseRegExp    = "RegExp"
	UsePromise   = "Promise"
	UseError     = "Error"
	UseAsync     = "AsyncFunction"
	UseGenerator = "GeneratorFunction"
)

// Uses lists the properties of all such classes.
var Uses = []string{UseRegExp, UsePromise, UseError, UseAsync, UseGenerator}

// withPauses inserts a yield point (a read of pause.at) at the start of each loop iteration and each
// function. There the host can suspend the script; the engine itself has no such hook. Positions, source text
// and directives of the script do not change.
func withPauses(tree *ast.Program) {
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		switch n := node.(type) {
		case *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement, *ast.DoWhileStatement:
			body := reflect.ValueOf(n).Elem().FieldByName("Body").Addr().Interface().(*ast.Statement)
			*body = pausing(*body)
		case *ast.FunctionLiteral:
			n.Body = pausing(n.Body).(*ast.BlockStatement)
		case *ast.ArrowFunctionLiteral:
			n.Body = pausing(bodyOf(n.Body)).(*ast.BlockStatement)
		case *ast.ParameterList: // default values are evaluated before the body
			for _, p := range n.List {
				p.Initializer = afterLook(p.Initializer)
			}
		case *ast.PropertyShort: // it may belong to a parameter's pattern
			n.Initializer = afterLook(n.Initializer)
		case *ast.FieldDefinition:
			n.Initializer = afterLook(n.Initializer)
		}
		return true
	})
}

// withUses inserts reads of the Uses properties for those of the given classes that the syntax of tree uses.
func withUses(tree *ast.Program, classes ...string) {
	whole, ok := wholeFile(tree)
	if !ok {
		return
	}
	uses := make(map[string]bool)
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		switch n := node.(type) {
		case *ast.RegExpLiteral:
			uses[UseRegExp] = true
		case *ast.CatchStatement:
			uses[UseError] = true
		case *ast.FunctionLiteral:
			uses[UseAsync] = uses[UseAsync] || n.Async
			uses[UseGenerator] = uses[UseGenerator] || n.Generator
		case *ast.ArrowFunctionLiteral:
			uses[UseAsync] = uses[UseAsync] || n.Async
		}
		return true
	})
	uses[UsePromise] = uses[UseAsync]
	for _, class := range classes {
		if uses[class] {
			insert(whole.Body, &ast.ExpressionStatement{Expression: pauseDot(unistring.String(class), whole.Body.LeftBrace)})
		}
	}
}

// pausing returns body as a block that begins with a yield point.
func pausing(body ast.Statement) ast.Statement {
	b, ok := body.(*ast.BlockStatement)
	if !ok {
		b = &ast.BlockStatement{LeftBrace: body.Idx0(), List: []ast.Statement{body}, RightBrace: body.Idx1()}
	}
	insert(b, look(b.LeftBrace))
	return b
}

// insert inserts a statement at the start of a block, after the directives.
func insert(b *ast.BlockStatement, s ast.Statement) {
	at := slices.IndexFunc(b.List, func(s ast.Statement) bool { return !directive(s) })
	if at < 0 {
		at = len(b.List)
	}
	b.List = slices.Insert(b.List, at, s)
}

// wholeFile returns the function that wraps the file.
func wholeFile(tree *ast.Program) (*ast.FunctionLiteral, bool) {
	if len(tree.Body) == 0 {
		return nil, false
	}
	s, ok := tree.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil, false
	}
	f, ok := s.Expression.(*ast.FunctionLiteral)
	return f, ok
}

func bodyOf(body ast.ConciseBody) *ast.BlockStatement {
	if b, ok := body.(*ast.BlockStatement); ok {
		return b
	}
	e := body.(*ast.ExpressionBody).Expression
	return &ast.BlockStatement{LeftBrace: e.Idx0(), List: []ast.Statement{&ast.ReturnStatement{Argument: e}}, RightBrace: e.Idx1()}
}

// directive reports whether s is a directive such as 'use strict'.
func directive(s ast.Statement) bool {
	e, ok := s.(*ast.ExpressionStatement)
	if ok {
		_, ok = e.Expression.(*ast.StringLiteral)
	}
	return ok
}

func look(at file.Idx) ast.Statement {
	return &ast.ExpressionStatement{Expression: pauseDot(pauseProperty, at)}
}

// afterLook returns an expression that polls the yield point before it evaluates e. If e cannot call a
// function, or is a function or class that gets its name from its position, afterLook returns e unchanged.
func afterLook(e ast.Expression) ast.Expression {
	switch e.(type) {
	case nil, *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral, *ast.Identifier, *ast.NumberLiteral, *ast.StringLiteral,
		*ast.BooleanLiteral, *ast.NullLiteral:
		return e
	}
	return &ast.SequenceExpression{Sequence: []ast.Expression{pauseDot(pauseProperty, e.Idx0()), e}}
}

func pauseDot(property unistring.String, at file.Idx) *ast.DotExpression {
	return &ast.DotExpression{
		Left:       &ast.Identifier{Name: pauseName, Idx: at},
		Identifier: ast.Identifier{Name: property, Idx: at},
	}
}

// pausable wraps a program that is a single expression in a function whose parameter is the pause object.
func pausable(tree *ast.Program) {
	e := tree.Body[0].(*ast.ExpressionStatement).Expression
	tree.Body[0] = &ast.ExpressionStatement{Expression: &ast.FunctionLiteral{
		Function:      1,
		ParameterList: &ast.ParameterList{Opening: 1, Closing: 1, List: []*ast.Binding{{Target: &ast.Identifier{Name: pauseName, Idx: 1}}}},
		Body:          &ast.BlockStatement{LeftBrace: 1, List: []ast.Statement{&ast.ReturnStatement{Argument: e}}, RightBrace: e.Idx1()},
	}}
}
