package compile

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"troupe/messages/lazy"
)

// UseNode is the last part of error messages about features that the embedded engine lacks.
const UseNode = `to run the script in Node.js, set "troupe": {"engine": "node"} in package.json`

// Error describes source that cannot be compiled, and its position.
type Error struct {
	File    string // path in the bundle
	Line    int    // from 1; 0 if unknown
	Column  int    // from 1, in characters
	Text    string // the source line; empty if it is longer than lineShown
	Message string

	final bool // lowering the source with esbuild would only hide the error
}

// Error returns file:line:column, the message, and the line with a mark under the column.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	fmt.Fprintf(&b, ": SyntaxError: %s", e.Message)
	if e.Text != "" {
		fmt.Fprintf(&b, "\n    %s\n    %s^", e.Text, strings.Repeat(" ", max(e.Column-1, 0)))
	}
	return b.String()
}

// Lacks returns the message of an error about a feature that the embedded engine does not have.
func Lacks(what string) string { return "the embedded engine does not have " + what + "; " + UseNode }

// lacking returns an error at a position of the source: the engine cannot run the code there, or must not.
func lacking(name string, tree *ast.Program, at file.Idx, what string) error {
	p := tree.File.Position(int(at) - 1)
	return &Error{File: name, Line: p.Line, Column: p.Column, final: true, Message: Lacks(what)}
}

const lineShown = 160 // maximum length in characters of a source line that an error shows

// at returns an error at a line and column of text; both from 1.
func at(name, text string, line, column int, message string) *Error {
	e := &Error{File: name, Line: line, Column: column, Message: message}
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return e
	}
	if text = strings.ReplaceAll(strings.TrimSuffix(lines[line-1], "\r"), "\t", " "); utf8.RuneCountInString(text) <= lineShown {
		e.Text = text
	}
	return e
}

// located converts an error of the engine's parser or compiler to an Error with a position. shift is the
// number of bytes that were inserted before the first line of text.
func located(name, text string, shift int, err error) error {
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return placed(name, text, shift, list[0].Position.Line, list[0].Position.Column, list[0].Message)
	}
	var syntax *goja.CompilerSyntaxError
	if errors.As(err, &syntax) && syntax.File != nil {
		p := syntax.File.Position(syntax.Offset)
		return placed(name, text, shift, p.Line, p.Column, syntax.Message)
	}
	return &Error{File: name, Message: err.Error()}
}

func placed(name, text string, shift, line, column int, message string) error {
	if line == 1 {
		column = max(column-shift, 1)
	}
	e := at(name, text, line, column, message)
	if strings.HasPrefix(message, "Invalid group") || strings.HasPrefix(message, "Invalid flags") {
		e.Message, e.final = "the embedded engine does not have this kind of regular expression: "+message+"; "+UseNode, true
	}
	return e
}

// unlowerable matches esbuild errors about valid code that it cannot lower.
var unlowerable = lazy.Regexp(`is not supported yet|currently not supported|not available in the configured target`)
