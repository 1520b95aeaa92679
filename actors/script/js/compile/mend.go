package compile

import (
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// withArguments makes the arguments of the enclosing function available to arrow functions. The engine stores
// arguments where an arrow function cannot reach them, and panics or reads another value, unless its compiler
// has seen the name in the arrow function before. So each arrow function that uses arguments gets the name
// once more, after a return, where it is never evaluated.
func withArguments(tree *ast.Program) {
	for _, arrow := range arrowsWithArguments(tree) {
		b := bodyOf(arrow.Body)
		b.List = append(slices.Clip(b.List), &ast.ReturnStatement{Return: b.RightBrace},
			&ast.ExpressionStatement{Expression: &ast.Identifier{Name: "arguments", Idx: b.RightBrace}})
		arrow.Body = b
	}
}

// arrowsWithArguments returns the arrow functions that use arguments themselves. Uses in functions nested in
// them do not count.
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

// withEvalSources makes each direct eval pass its source to the host first: eval(x) becomes
// eval(pause.source(x)). It refuses a direct eval with spread arguments, because its source is unknown. It
// also refuses a direct eval in a switch: if the source declares a name there, the engine allocates 64 GiB,
// which ends the process. If none is true, it refuses every direct eval.
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

// callsEval reports whether n may be a direct eval with at least one argument.
func callsEval(n *ast.CallExpression) bool {
	return named(n.Callee, "eval") && len(n.ArgumentList) > 0
}

func named(e ast.Expression, name unistring.String) bool {
	id, ok := e.(*ast.Identifier)
	return ok && id.Name == name
}

// checkWith refuses with statements: inside one, the engine would look up the pause object in an object of
// the script.
func checkWith(name string, tree *ast.Program) (err error) {
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		if n, ok := node.(*ast.WithStatement); ok {
			err = lacking(name, tree, n.With, "with statements")
		}
		return err == nil
	})
	return err
}
