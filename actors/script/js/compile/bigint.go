package compile

import (
	"math/big"
	"reflect"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
)

// checkBigInt refuses BigInt literals and uses of the BigInt classes: a BigInt may take any amount of memory,
// and the engine cannot interrupt its arithmetic. Files that test for support (typeof BigInt) and files in
// node_modules may use the classes, but not literals.
func checkBigInt(name string, tree *ast.Program) error {
	literal, used, asks := file.Idx(-1), file.Idx(-1), false
	names := func(e ast.Expression) bool {
		return named(e, "BigInt") || named(e, "BigInt64Array") || named(e, "BigUint64Array")
	}
	use := func(e ast.Expression) {
		if names(e) && used < 0 {
			used = e.Idx0()
		}
	}
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		switch n := node.(type) {
		case *ast.NumberLiteral:
			if _, is := n.Value.(*big.Int); is && literal < 0 {
				literal = n.Idx
			}
		case *ast.UnaryExpression:
			asks = asks || names(n.Operand) && n.Operator == token.TYPEOF
		case *ast.CallExpression:
			use(n.Callee)
		case *ast.NewExpression:
			use(n.Callee)
		case *ast.DotExpression:
			use(n.Left)
		}
		return true
	})
	if literal < 0 && (used < 0 || asks || strings.Contains("/"+name, "/node_modules/")) {
		return nil
	}
	if literal < 0 {
		literal = used
	}
	return lacking(name, tree, literal, "BigInt")
}
