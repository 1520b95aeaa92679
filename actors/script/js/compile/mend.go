package compile

import (
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
)

// mend changes code that the engine's compiler gets wrong into code that means the same and
// that it gets right.
func mend(tree *ast.Program, text string) {
	withArguments(tree)
	if mayEval(text) {
		for _, n := range evalsInSwitches(tree) {
			zero := &ast.NumberLiteral{Idx: n.Idx0(), Literal: "0", Value: int64(0)}
			n.Callee = &ast.SequenceExpression{Sequence: []ast.Expression{zero, n.Callee}}
		}
		withVariables(tree)
	}
}

// withArguments has arrow functions see the arguments of the function around them. The
// engine keeps these where an arrow function cannot reach them, unless it has met the
// name before: so each arrow function that has the name gets it once more, behind a
// return, where nothing of it ever runs.
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

// evalsInSwitches returns the direct evals in each switch that declares something. The
// engine would take 64 GiB there, which ends the process: they have to be indirect ones.
func evalsInSwitches(tree *ast.Program) (found []*ast.CallExpression) {
	evals := func(node any) bool {
		if n, ok := node.(*ast.CallExpression); ok && callsEval(n) {
			found = append(found, n)
		}
		return true
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

// withVariables declares a variable in the body of each function that has an eval inside and
// more than names as its parameters. If the body has none of its own the engine looks for
// all variables outside of it in the wrong place. Its name has a space, as pauseName.
func withVariables(tree *ast.Program) {
	declare := func(b *ast.BlockStatement) *ast.BlockStatement {
		variable := &ast.Binding{Target: &ast.Identifier{Name: "troupe body", Idx: b.LeftBrace}}
		b.List = slices.Insert(b.List, 0, ast.Statement(&ast.LexicalDeclaration{Idx: b.LeftBrace, Token: token.LET, List: []*ast.Binding{variable}}))
		return b
	}
	var in func(v reflect.Value) bool
	in = func(v reflect.Value) (has bool) {
		walk(v, func(node any) bool {
			inside := false
			switch n := node.(type) {
			case *ast.FunctionLiteral:
				if inside = in(reflect.ValueOf(n).Elem()); inside && !simple(n.ParameterList) {
					n.Body = declare(n.Body)
				}
			case *ast.ArrowFunctionLiteral:
				if inside = in(reflect.ValueOf(n).Elem()); inside && !simple(n.ParameterList) {
					n.Body = declare(bodyOf(n.Body))
				}
			case *ast.CallExpression:
				has = has || callsEval(n)
				return true
			default:
				return true
			}
			has = has || inside
			return false
		})
		return has
	}
	in(reflect.ValueOf(tree.Body))
}

// simple reports whether parameters are names only.
func simple(list *ast.ParameterList) bool {
	return list.Rest == nil && !slices.ContainsFunc(list.List, func(b *ast.Binding) bool {
		_, name := b.Target.(*ast.Identifier)
		return !name || b.Initializer != nil
	})
}

// mayEval is false for most text, which need not be searched for evals then. An escape may
// be in a name.
func mayEval(text string) bool {
	return strings.Contains(text, "eval") || strings.Contains(text, `\u`)
}

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
