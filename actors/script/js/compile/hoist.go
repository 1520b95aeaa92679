package compile

import (
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/unistring"
)

// withHoisted has sloppy code see a function that is declared in a block outside of the block,
// once the block was entered, as scripts of old style expect; to the engine it is as local as
// with let. A function that is named outside of its block becomes a variable of the function
// around, set at the start of the block. Those in the cases of a switch are left.
func withHoisted(tree *ast.Program) {
	h := &hoisting{names: make(names), taken: make(map[unistring.String]bool)}
	h.in(reflect.ValueOf(tree.Body), false)
}

// hoisting is what was found in a function.
type hoisting struct {
	names      names                     // of the whole file, as far as it was looked at
	start, end file.Idx                  // of the function
	taken      map[unistring.String]bool // parameters, and what is local to blocks
	blocks     []*ast.BlockStatement     // that declare functions
}

// names are the places of all names; those in a function come behind those before it.
type names map[unistring.String][]file.Idx

func (n names) add(id *ast.Identifier) { n[id.Name] = append(n[id.Name], id.Idx) }

// in looks at a part of the function; strict: nothing in it changes.
func (h *hoisting) in(v reflect.Value, strict bool) {
	walk(v, func(node any) bool {
		switch n := node.(type) {
		case *ast.Identifier:
			h.names.add(n)
		case *ast.PropertyShort:
			h.names.add(&n.Name)
		case *ast.LexicalDeclaration:
			for _, b := range n.List {
				h.take(b.Target)
			}
		case *ast.ForDeclaration:
			h.take(n.Target)
		case *ast.CatchStatement:
			h.take(n.Parameter)
		case *ast.ClassDeclaration:
			h.take(n.Class.Name)
		case *ast.BlockStatement:
			if !strict && slices.ContainsFunc(n.List, func(s ast.Statement) bool { return plainFunction(s) != nil }) {
				h.blocks = append(h.blocks, n)
			}
		case *ast.ClassLiteral:
			h.in(reflect.ValueOf(n).Elem(), true)
			return false
		case *ast.FunctionLiteral:
			if n.Name != nil {
				h.names.add(n.Name)
			}
			h.function(n, n.ParameterList, n.Body, &n.DeclarationList, strict)
			return false
		case *ast.ArrowFunctionLiteral:
			h.function(n, n.ParameterList, n.Body, &n.DeclarationList, strict)
			return false
		}
		return true
	})
}

// function looks at a function inside, and changes it.
func (h *hoisting) function(f ast.Node, parameters *ast.ParameterList, body ast.ConciseBody, declarations *[]*ast.VariableDeclaration, strict bool) {
	inner := &hoisting{names: h.names, start: f.Idx0(), end: f.Idx1(), taken: map[unistring.String]bool{"arguments": true}}
	for _, p := range parameters.List {
		inner.take(p.Target)
	}
	inner.take(parameters.Rest)
	inner.in(reflect.ValueOf(parameters).Elem(), true)
	if b, ok := body.(*ast.BlockStatement); ok {
		inner.in(reflect.ValueOf(b.List), strict || isStrict(b.List))
	} else {
		inner.in(reflect.ValueOf(body), strict)
	}
	for _, b := range inner.blocks {
		inner.hoist(b, declarations)
	}
}

// hoist makes variables of the functions of a block that are named outside of it.
func (h *hoisting) hoist(b *ast.BlockStatement, declarations *[]*ast.VariableDeclaration) {
	var variables, rest []ast.Statement
	for _, s := range b.List {
		f := plainFunction(s)
		if f == nil || h.taken[f.Name.Name] || !h.outside(b, f.Name.Name) {
			rest = append(rest, s)
			continue
		}
		value := *f
		value.Name = nil // it gets that of the variable
		list := []*ast.Binding{{Target: f.Name, Initializer: &value}}
		variables = append(variables, &ast.VariableStatement{Var: f.Function, List: list})
		*declarations = append(*declarations, &ast.VariableDeclaration{Var: f.Function, List: list})
	}
	b.List = append(variables, rest...)
}

// outside reports whether a name is in the function and not in the block.
func (h *hoisting) outside(b *ast.BlockStatement, name unistring.String) bool {
	for _, i := range slices.Backward(h.names[name]) {
		if i < h.start {
			return false
		}
		if i <= h.end && (i < b.LeftBrace || i > b.RightBrace) {
			return true
		}
	}
	return false
}

// take notes all names in a target as taken.
func (h *hoisting) take(target ast.Expression) {
	if target == nil {
		return
	}
	in := &hoisting{names: make(names), taken: make(map[unistring.String]bool)}
	in.in(reflect.ValueOf(&target).Elem(), true)
	for name := range in.names {
		h.taken[name] = true
	}
}

// plainFunction returns the function that a statement declares, if it is one of old.
func plainFunction(s ast.Statement) *ast.FunctionLiteral {
	if d, ok := s.(*ast.FunctionDeclaration); ok && !d.Function.Async && !d.Function.Generator {
		return d.Function
	}
	return nil
}

// isStrict reports whether a body begins with 'use strict', maybe behind other directives.
func isStrict(list []ast.Statement) bool {
	for _, s := range list {
		e, ok := s.(*ast.ExpressionStatement)
		if !ok {
			return false
		}
		text, ok := e.Expression.(*ast.StringLiteral)
		if !ok {
			return false
		}
		if len(text.Literal) == len("'use strict'") && text.Value == "use strict" {
			return true
		}
	}
	return false
}
