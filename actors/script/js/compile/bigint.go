package compile

import (
	"math/big"
	"reflect"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// checkBigInt refuses what uses BigInt: its numbers take any memory, and nothing interrupts what
// is done with them. A file that asks first whether there is a BigInt may name it.
func checkBigInt(name string, tree *ast.Program) error {
	literal, named, asks := file.Idx(-1), file.Idx(-1), false
	names := func(e ast.Expression) (*ast.Identifier, bool) {
		id, ok := e.(*ast.Identifier)
		return id, ok && (id.Name == "BigInt" || id.Name == "BigInt64Array" || id.Name == "BigUint64Array")
	}
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		switch n := node.(type) {
		case *ast.NumberLiteral:
			if _, is := n.Value.(*big.Int); is && literal < 0 {
				literal = n.Idx
			}
		case *ast.UnaryExpression:
			if _, is := names(n.Operand); is && n.Operator.String() == "typeof" {
				asks = true
			}
		case *ast.CallExpression:
			if id, is := names(n.Callee); is && named < 0 {
				named = id.Idx
			}
		case *ast.NewExpression:
			if id, is := names(n.Callee); is && named < 0 {
				named = id.Idx
			}
		case *ast.DotExpression:
			if id, is := names(n.Left); is && named < 0 {
				named = id.Idx
			}
		}
		return true
	})
	if literal < 0 && (named < 0 || asks || strings.Contains("/"+name, "/node_modules/")) {
		return nil
	}
	if literal < 0 {
		literal = named
	}
	return lacking(name, tree, literal, "BigInt")
}
