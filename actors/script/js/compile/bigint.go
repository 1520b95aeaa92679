package compile

import (
	"math/big"
	"reflect"
	"strings"

	"github.com/dop251/goja/ast"
)

// mayHaveBigInt reports whether a text may have a number that is a BigInt: a digit before an n.
func mayHaveBigInt(text string) bool {
	for i := 1; i < len(text); i++ {
		if c := text[i-1]; text[i] == 'n' && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return true
		}
	}
	return false
}

// checkBigInt refuses what uses BigInt: its numbers take any memory, and nothing interrupts what
// is done with them. A file that asks first whether there is a BigInt may name it.
func checkBigInt(name string, tree *ast.Program) error {
	literal, named, asks := -1, -1, false
	names := func(e ast.Expression) (*ast.Identifier, bool) {
		id, ok := e.(*ast.Identifier)
		return id, ok && (id.Name == "BigInt" || id.Name == "BigInt64Array" || id.Name == "BigUint64Array")
	}
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		switch n := node.(type) {
		case *ast.NumberLiteral:
			if _, is := n.Value.(*big.Int); is && literal < 0 {
				literal = int(n.Idx)
			}
		case *ast.UnaryExpression:
			if _, is := names(n.Operand); is && n.Operator.String() == "typeof" {
				asks = true
			}
		case *ast.CallExpression:
			if id, is := names(n.Callee); is && named < 0 {
				named = int(id.Idx)
			}
		case *ast.NewExpression:
			if id, is := names(n.Callee); is && named < 0 {
				named = int(id.Idx)
			}
		case *ast.DotExpression:
			if id, is := names(n.Left); is && named < 0 {
				named = int(id.Idx)
			}
		}
		return true
	})
	if literal < 0 && (named < 0 || asks || strings.Contains("/"+name, "/node_modules/")) {
		return nil
	}
	p := tree.File.Position(max(literal, named) - 1)
	if literal >= 0 {
		p = tree.File.Position(literal - 1)
	}
	return &Error{File: name, Line: p.Line, Column: p.Column, final: true, Message: "the embedded engine does not have BigInt; " + useNode}
}
