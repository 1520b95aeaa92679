package compile

import (
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

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
