package compile

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

const (
	chainEvery = 4       // in a chain of additions, one in chainEvery reports its result
	shortText  = 1 << 10 // maximum length in bytes of a text that is not reported
)

// withSizes makes the code assign the result of an operator to pause.size if the result may be large. These
// operators are additions that may concatenate, templates, copies by spread and rest, and direct evals. So
// the host can limit even code without loops and functions. In a chain of additions, the last one is
// reported, and every fourth one before it.
//
// In comparisons, withSizes also replaces undefined by void 0, unless the name was declared before. The
// engine would search all scopes for undefined, which costs as much as a call.
func withSizes(tree *ast.Program) {
	links := make(map[ast.Expression]int) // position of an addition in its chain, modulo chainEvery
	declared := false                     // the code declares a variable named undefined
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		switch n := node.(type) {
		case *ast.AssignExpression:
			if isSeen(n.Left) {
				return true
			}
		case *ast.TemplateLiteral:
			for n.Tag == nil && len(n.Expressions) > chainEvery { // move the first expressions to a template of their own
				first := &ast.TemplateLiteral{OpenQuote: n.OpenQuote, CloseQuote: n.CloseQuote, Elements: n.Elements[:chainEvery+1], Expressions: n.Expressions[:chainEvery]}
				n.Elements = append([]*ast.TemplateElement{{Idx: n.OpenQuote, Valid: true}, {Idx: n.OpenQuote, Valid: true}}, n.Elements[chainEvery+1:]...)
				n.Expressions = append([]ast.Expression{first}, n.Expressions[chainEvery:]...)
			}
		case *ast.Binding:
			declared = declared || named(n.Target, "undefined")
		case *ast.BinaryExpression:
			for _, side := range []*ast.Expression{&n.Left, &n.Right} {
				if named(*side, "undefined") && !declared {
					at := (*side).Idx0()
					*side = &ast.UnaryExpression{Operator: token.VOID, Idx: at, Operand: &ast.NumberLiteral{Idx: at, Literal: "0", Value: int64(0)}}
				}
			}
			if left, ok := n.Left.(*ast.BinaryExpression); ok && n.Operator == token.PLUS && left.Operator == token.PLUS {
				links[left] = (links[n] + 1) % chainEvery
			}
		}
		if e := restOf(node); e != nil {
			*e = toSize(*e)
		}
		v := reflect.ValueOf(node).Elem()
		for _, i := range fieldsOf(v.Type()) {
			switch field := v.Field(i).Addr().Interface().(type) {
			case *ast.Expression:
				if large(*field) && links[*field] == 0 {
					*field = toSize(*field)
				}
			case *[]ast.Expression:
				for i, e := range *field {
					if large(e) {
						(*field)[i] = toSize(e)
					}
				}
			}
		}
		return true
	})
}

func toSize(e ast.Expression) ast.Expression {
	return &ast.AssignExpression{Operator: token.ASSIGN, Left: pauseDot(sizeProperty, e.Idx0()), Right: e}
}

func large(e ast.Expression) bool {
	switch n := e.(type) {
	case *ast.BinaryExpression:
		return n.Operator == token.PLUS && !short(n)
	case *ast.AssignExpression:
		return n.Operator == token.PLUS
	case *ast.CallExpression:
		return callsEval(n)
	case *ast.TemplateLiteral:
		return n.Tag == nil && len(n.Expressions) > 0
	case *ast.ArrayLiteral:
		return spreads(n.Value)
	case *ast.ObjectLiteral:
		return spreads(n.Value)
	}
	return false
}

// short reports whether the value of an expression is a text of at most shortText bytes, or not a text, such
// as a number.
func short(e ast.Expression) bool {
	switch n := e.(type) {
	case *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral, *ast.UnaryExpression:
		return true
	case *ast.StringLiteral:
		return len(n.Value) <= shortText
	case *ast.BinaryExpression:
		switch n.Operator {
		case token.PLUS, token.LOGICAL_AND, token.LOGICAL_OR, token.COALESCE:
			return short(n.Left) && short(n.Right)
		}
		return true
	}
	return false
}

func spreads[E ast.Expression](list []E) bool {
	for _, e := range list {
		if _, ok := ast.Expression(e).(*ast.SpreadElement); ok {
			return true
		}
	}
	return false
}

// restOf returns the value that node destructures with a rest element, or nil if node has no rest element.
func restOf(node any) (of *ast.Expression) {
	var pattern ast.Expression
	switch n := node.(type) {
	case *ast.AssignExpression:
		pattern, of = n.Left, &n.Right
	case *ast.Binding:
		if n.Initializer != nil {
			pattern, of = n.Target, &n.Initializer
		}
	}
	found := false
	walk(reflect.ValueOf(&pattern).Elem(), func(node any) bool {
		switch n := node.(type) {
		case *ast.ArrayPattern:
			found = found || n.Rest != nil
		case *ast.ObjectPattern:
			found = found || n.Rest != nil
		}
		return !found
	})
	if !found {
		return nil
	}
	return of
}
