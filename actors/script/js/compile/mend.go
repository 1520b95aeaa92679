package compile

import (
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// withArguments has arrow functions see the arguments of the function around them. The
// engine keeps these where an arrow function cannot reach them (it panics, or reads
// something else), unless it has met the name before: so each arrow function that has the
// name gets it once more, behind a return, where nothing of it ever runs.
func withArguments(tree *ast.Program) {
	for _, arrow := range arrowsWithArguments(tree) {
		b := bodyOf(arrow.Body)
		b.List = append(slices.Clip(b.List), again(b.RightBrace)...)
		arrow.Body = b
	}
}

// arrowsWithArguments returns the arrow functions that name arguments themselves, not
// in a function inside of them.
func arrowsWithArguments(tree *ast.Program) (found []*ast.ArrowFunctionLiteral) {
	var in func(v reflect.Value, arrow *ast.ArrowFunctionLiteral)
	in = func(v reflect.Value, arrow *ast.ArrowFunctionLiteral) {
		has := false
		walk(v, func(node any) bool {
			switch n := node.(type) {
			case *ast.Identifier:
				has = has || n.Name == "arguments"
			case *ast.PropertyShort:
				has = has || n.Name.Name == "arguments"
			case *ast.FunctionLiteral:
				in(reflect.ValueOf(n).Elem(), nil)
				return false
			case *ast.ArrowFunctionLiteral:
				in(reflect.ValueOf(n).Elem(), n)
				return false
			}
			return true
		})
		if has && arrow != nil {
			found = append(found, arrow)
		}
	}
	in(reflect.ValueOf(tree.Body), nil)
	return found
}

// again is return; arguments;
func again(at file.Idx) []ast.Statement {
	return []ast.Statement{
		&ast.ReturnStatement{Return: at},
		&ast.ExpressionStatement{Expression: &ast.Identifier{Name: "arguments", Idx: at}},
	}
}

// evalInSwitch returns a direct eval in a switch that declares something, or nil. The engine
// would take 64 GiB there, which ends the process.
func evalInSwitch(tree *ast.Program, text string) (found *ast.CallExpression) {
	if !strings.Contains(text, "eval") && !strings.Contains(text, `\u`) { // an escape may be in a name
		return nil
	}
	evals := func(node any) bool {
		if n, ok := node.(*ast.CallExpression); ok && callsEval(n) {
			found = n
		}
		return found == nil
	}
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		n, ok := node.(*ast.SwitchStatement)
		if !ok || !declares(n) {
			return true
		}
		walk(reflect.ValueOf(n.Body), evals)
		return false
	})
	return found
}

// evalInSwitchText says what is wrong with it.
const evalInSwitchText = "the embedded engine does not have eval in a switch that declares something in its cases; " + useNode

func declares(n *ast.SwitchStatement) bool {
	for _, c := range n.Body {
		for _, s := range c.Consequent {
			for {
				labelled, ok := s.(*ast.LabelledStatement)
				if !ok {
					break
				}
				s = labelled.Statement
			}
			switch s.(type) {
			case *ast.LexicalDeclaration, *ast.ClassDeclaration, *ast.FunctionDeclaration:
				return true
			}
		}
	}
	return false
}

// callsEval reports whether the engine takes n for a direct eval.
func callsEval(n *ast.CallExpression) bool {
	id, ok := n.Callee.(*ast.Identifier)
	return ok && id.Name == "eval"
}
