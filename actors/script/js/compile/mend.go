package compile

import (
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// withArguments lets arrow functions see the arguments of the function around them. The engine keeps these where an arrow function cannot reach them
// (it panics, or reads something else), unless the compiler has met the name before. So each arrow function that names them gets the name once
// more, after a return, where it never runs.
func withArguments(tree *ast.Program) {
	for _, arrow := range arrowsWithArguments(tree) {
		b := bodyOf(arrow.Body)
		b.List = append(slices.Clip(b.List), &ast.ReturnStatement{Return: b.RightBrace},
			&ast.ExpressionStatement{Expression: &ast.Identifier{Name: "arguments", Idx: b.RightBrace}})
		arrow.Body = b
	}
}

// arrowsWithArguments returns the arrow functions that name arguments, other than in a function inside them.
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

// withEvalSources makes each direct eval give its source to the host first (EvalSource). It refuses direct evals whose source the host cannot see,
// all of them if none is true, and those in a switch: if the text declares something, the engine asks for 64 GiB there, which ends the process.
func withEvalSources(name string, tree *ast.Program, none bool) (err error) {
	var in func(v reflect.Value, none bool)
	in = func(v reflect.Value, none bool) {
		walk(v, func(node any) bool {
			switch n := node.(type) {
			case *ast.SwitchStatement:
				if !none {
					in(reflect.ValueOf(n).Elem(), true)
					return false
				}
			case *ast.CallExpression:
				if !callsEval(n) {
					break
				}
				if _, spread := n.ArgumentList[0].(*ast.SpreadElement); spread || none {
					err = lacking(name, tree, n.Idx0(), "a direct eval in evaluated text, in a switch, or of spread arguments")
				} else {
					n.ArgumentList[0] = &ast.CallExpression{Callee: pauseDot(EvalSource, n.Idx0()), ArgumentList: []ast.Expression{n.ArgumentList[0]}}
				}
			}
			return err == nil
		})
	}
	in(reflect.ValueOf(tree.Body), none)
	return err
}

func isSeen(e ast.Expression) bool {
	property, ok := e.(*ast.DotExpression)
	return ok && named(property.Left, pauseName)
}

// callsEval reports whether n may be a direct eval of something.
func callsEval(n *ast.CallExpression) bool {
	return named(n.Callee, "eval") && len(n.ArgumentList) > 0
}

func named(e ast.Expression, name unistring.String) bool {
	id, ok := e.(*ast.Identifier)
	return ok && id.Name == name
}

// checkWith refuses with statements: the engine would look for the pause object in an object of the script.
func checkWith(name string, tree *ast.Program) (err error) {
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		if n, ok := node.(*ast.WithStatement); ok {
			err = lacking(name, tree, n.With, "with statements")
		}
		return err == nil
	})
	return err
}
