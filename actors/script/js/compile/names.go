package compile

import (
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// namesHelper is what esbuild gives functions their names with if it is to keep them.
const namesHelper = `var __name = (target, value) => __defProp(target, "name"`

// withoutNames takes the calls of esbuild's helper out of lowered text where the engine gives the
// same name by itself: a call takes longer than to make a function.
func withoutNames(tree *ast.Program, text string) {
	if !strings.Contains(text, namesHelper) || strings.Contains(text, "__name2") {
		return
	}
	bare := func(e *ast.Expression, name unistring.String) {
		if f, given := named(*e); f != nil && given == name {
			*e = f
		}
	}
	statements := func(list []ast.Statement) []ast.Statement {
		return slices.DeleteFunc(list, func(s ast.Statement) bool {
			e, ok := s.(*ast.ExpressionStatement)
			if !ok {
				return false
			}
			f, given := named(e.Expression)
			id, ok := f.(*ast.Identifier)
			return ok && id.Name == given
		})
	}
	walk(reflect.ValueOf(tree.Body), func(node any) bool {
		switch n := node.(type) {
		case *ast.BlockStatement:
			n.List = statements(n.List)
		case *ast.ClassLiteral:
			n.Body = slices.DeleteFunc(n.Body, func(e ast.ClassElement) bool {
				static, ok := e.(*ast.ClassStaticBlock)
				if !ok || n.Name == nil || len(static.Block.List) != 1 {
					return false
				}
				s, ok := static.Block.List[0].(*ast.ExpressionStatement)
				if !ok {
					return false
				}
				this, given := named(s.Expression)
				_, ok = this.(*ast.ThisExpression)
				return ok && given == n.Name.Name
			})
		case *ast.Binding:
			if id, ok := n.Target.(*ast.Identifier); ok {
				bare(&n.Initializer, id.Name)
			}
		case *ast.AssignExpression:
			if id, ok := n.Left.(*ast.Identifier); ok {
				bare(&n.Right, id.Name)
			}
		case *ast.PropertyKeyed:
			if key, ok := n.Key.(*ast.StringLiteral); ok && !n.Computed {
				bare(&n.Value, key.Value)
			}
		case *ast.FieldDefinition:
			if key, ok := n.Key.(*ast.StringLiteral); ok && !n.Computed {
				bare(&n.Initializer, key.Value)
			}
		}
		return true
	})
	withoutOwnNames(reflect.ValueOf(tree.Body))
}

// withoutOwnNames is withoutNames for functions that say their own name, wherever they are.
func withoutOwnNames(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			withoutOwnNames(v.Elem())
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if e, ok := v.Interface().(ast.Expression); ok {
			f, given := named(e)
			if literal, ok := f.(*ast.FunctionLiteral); ok && literal.Name != nil && literal.Name.Name == given {
				v.Set(reflect.ValueOf(f))
			}
		}
		withoutOwnNames(v.Elem())
	case reflect.Struct:
		for _, i := range fieldsOf(v.Type()) {
			withoutOwnNames(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			withoutOwnNames(v.Index(i))
		}
	}
}

// named returns what a call of the helper names, and how; nil: it is none.
func named(e ast.Expression) (ast.Expression, unistring.String) {
	call, ok := e.(*ast.CallExpression)
	if !ok || len(call.ArgumentList) != 2 {
		return nil, ""
	}
	id, ok := call.Callee.(*ast.Identifier)
	name, text := call.ArgumentList[1].(*ast.StringLiteral)
	if !ok || !text || id.Name != "__name" {
		return nil, ""
	}
	return call.ArgumentList[0], name.Value
}
