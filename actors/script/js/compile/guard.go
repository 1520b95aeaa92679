package compile

import (
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/token"
)

// CheckJSON refuses JSON that a script parses while it runs and that is nested so deeply
// that the engine's parser would overflow the stack, which ends the process.
func CheckJSON(text string) error { return checkJSON("JSON", text) }

// Evaluated returns source that a script has the engine evaluate, mended as far as text can
// be, or refuses it as CheckJSON does. An arrow function without braces that has arguments
// only as an operand, such as () => arguments + 1, stays as it is.
func Evaluated(text string) (string, error) {
	if err := checkEvaluated(text); err != nil {
		return "", err
	}
	return apply(editsOf(text), text, 0), nil
}

// EvaluatedFunction is Evaluated for the parameters and, last, the body of a function of a
// kind such as "async function", which the engine makes one text of.
func EvaluatedFunction(kind string, sources []string) ([]string, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	const comma, opening = ",", "\n) {\n"
	head, last := "("+kind+" anonymous(", len(sources)-1
	whole := head + strings.Join(sources[:last], comma) + opening + sources[last] + "\n})"
	if err := checkEvaluated(whole); err != nil {
		return nil, err
	}
	edits := editsOf(whole)
	made, at := make([]string, len(sources)), len(head)
	for i, text := range sources {
		if i == last {
			at += len(opening) - min(i, 1)*len(comma)
		}
		made[i] = apply(edits, text, at)
		at += len(text) + len(comma)
	}
	return made, nil
}

func checkEvaluated(text string) error {
	if len(text) > SourceMax {
		return &Error{File: "source", Message: "it is too long"}
	}
	return check("source", text)
}

// edit puts something in place of a range of bytes.
type edit struct {
	at, until int
	with      string
}

// apply makes those edits that are in text, which begins at start.
func apply(edits []edit, text string, start int) string {
	if len(edits) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if from, until := e.at-start, e.until-start; from >= at && until <= len(text) {
			b.WriteString(text[at:from])
			b.WriteString(e.with)
			at = until
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

// editsOf returns, in their order, what mends text.
func editsOf(text string) (edits []edit) {
	arrows, evals := strings.Contains(text, "arguments") && strings.Contains(text, "=>"), mayEval(text) && strings.Contains(text, "switch")
	if !arrows && !evals {
		return nil
	}
	tree, err := parser.ParseFile(nil, "", text, 0, parser.WithDisableSourceMaps)
	if err != nil { // the engine says what is wrong
		return nil
	}
	if arrows {
		for _, arrow := range arrowsWithArguments(tree) {
			if b, ok := arrow.Body.(*ast.BlockStatement); ok {
				at := int(b.RightBrace) - 1
				edits = append(edits, edit{at, at, ";return;arguments"})
			} else if id := value(arrow); id != nil {
				at := int(id.Idx) - 1 // nobody writes it with an escape
				edits = append(edits, edit{at, at + len(id.Name), "(arguments,arguments)"})
			}
		}
	}
	if evals {
		for _, n := range evalsInSwitches(tree) {
			at := int(n.LeftParenthesis) - 1
			edits = append(edits, edit{at, at, "?."})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.at - b.at })
	return edits
}

// value returns where an arrow function without braces has arguments as a value, so that
// an expression may take its place.
func value(arrow *ast.ArrowFunctionLiteral) (found *ast.Identifier) {
	take := func(list ...ast.Expression) {
		for _, e := range list {
			if spread, ok := e.(*ast.SpreadElement); ok {
				e = spread.Expression
			}
			if id, ok := e.(*ast.Identifier); ok && id.Name == "arguments" {
				found = id
			}
		}
	}
	walk(reflect.ValueOf(arrow).Elem(), func(node any) bool {
		switch n := node.(type) {
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
			return false
		case *ast.ExpressionBody:
			take(n.Expression)
		case *ast.DotExpression:
			take(n.Left)
		case *ast.BracketExpression:
			take(n.Left)
		case *ast.CallExpression:
			take(n.ArgumentList...)
		case *ast.NewExpression:
			take(n.ArgumentList...)
		case *ast.ArrayLiteral:
			take(n.Value...)
		case *ast.UnaryExpression:
			if n.Operator == token.TYPEOF {
				take(n.Operand)
			}
		}
		return true
	})
	return found
}
