package compile

import (
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/unistring"
)

// PauseName names the pause object, read in each turn of a loop and at each start of a function. Scripts cannot name it: it has a space.
const PauseName = "troupe pause"

const (
	pauseName     unistring.String = PauseName
	pauseProperty unistring.String = "at"   // the code reads it to pause; its value does not matter
	sizeProperty  unistring.String = "size" // the code assigns to it what it has made that may be large
)

// EvalSource is the property that the code calls with the source of each direct eval: eval(x) becomes eval(pause.source(x)).
const EvalSource = "source"

// These properties stand for classes that code may use without naming them. A file with such syntax reads them first.
const (
	UseRegExp    = "RegExp"
	UsePromise   = "Promise"
	UseError     = "Error"
	UseAsync     = "AsyncFunction"
	UseGenerator = "GeneratorFunction"
)

// Uses are all properties for classes.
var Uses = []string{UseRegExp, UsePromise, UseError, UseAsync, UseGenerator}

// withPauses makes the code read pause.at at the start of each turn of a loop and of each function. There the host may let the script wait: the engine
// has no such place. Positions, source text and directives of the script stay as they are.
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
		case *ast.ParameterList: // defaults run before the body
			for _, p := range n.List {
				p.Initializer = afterLook(p.Initializer)
			}
		case *ast.PropertyShort: // its pattern may be a parameter
			n.Initializer = afterLook(n.Initializer)
		case *ast.FieldDefinition:
			n.Initializer = afterLook(n.Initializer)
		}
		return true
	})
}

// withUses makes the code read the properties for those of some classes that its syntax uses.
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

// pausing returns a block that pauses and then does what body does.
func pausing(body ast.Statement) ast.Statement {
	b, ok := body.(*ast.BlockStatement)
	if !ok {
		b = &ast.BlockStatement{LeftBrace: body.Idx0(), List: []ast.Statement{body}, RightBrace: body.Idx1()}
	}
	insert(b, look(b.LeftBrace))
	return b
}

// insert puts a statement first in a block, after directives.
func insert(b *ast.BlockStatement, s ast.Statement) {
	at := slices.IndexFunc(b.List, func(s ast.Statement) bool { return !directive(s) })
	if at < 0 {
		at = len(b.List)
	}
	b.List = slices.Insert(b.List, at, s)
}

// wholeFile returns the function around a file.
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

// directive reports whether s is such as 'use strict'.
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

// afterLook returns an expression that pauses and has the value of e, if e may call something. What its place names stays as it is.
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

// pausable puts a function around a program that is one expression. Its parameter is the pause object.
func pausable(tree *ast.Program) {
	e := tree.Body[0].(*ast.ExpressionStatement).Expression
	tree.Body[0] = &ast.ExpressionStatement{Expression: &ast.FunctionLiteral{
		Function:      1,
		ParameterList: &ast.ParameterList{Opening: 1, Closing: 1, List: []*ast.Binding{{Target: &ast.Identifier{Name: pauseName, Idx: 1}}}},
		Body:          &ast.BlockStatement{LeftBrace: 1, List: []ast.Statement{&ast.ReturnStatement{Argument: e}}, RightBrace: e.Idx1()},
	}}
}
