package compile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/unistring"
	"github.com/evanw/esbuild/pkg/api"
)

var parameters = []string{"exports", "require", "module", "__filename", "__dirname"}

// source compiles one file. esm forces the file to be treated as an ES module.
func source(name string, data []byte, esm bool) (*goja.Program, error) {
	if len(data) > SourceMax {
		return nil, &Error{File: name, Message: fmt.Sprintf("%d bytes of source are more than %d; %s", len(data), SourceMax, UseNode)}
	}
	text := string(trimmed(data))
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if path.Ext(name) == ".json" {
		return jsonProgram(name, text)
	}
	if strings.HasPrefix(text, "#!") {
		text = "//" + text[2:]
	}
	if err := check(name, text); err != nil {
		return nil, err
	}
	lang := loaderOf(name)
	if !esm && lang == api.LoaderJS {
		program, err := common(name, text, nil, false)
		if e, ok := err.(*Error); err == nil || ok && e.final {
			return program, err
		}
	}
	return lower(name, text, lang, esm)
}

// jsonProgram compiles a JSON file. The program calls JSON.parse of the engine when it runs.
func jsonProgram(name, text string) (*goja.Program, error) {
	if _, err := CheckJSON(name, text); err != nil {
		return nil, err
	}
	var wrong *json.SyntaxError
	if err := json.Unmarshal([]byte(text), new(json.RawMessage)); errors.As(err, &wrong) {
		before := text[:wrong.Offset]
		if wrong.Error() != "unexpected end of JSON input" {
			before = text[:wrong.Offset-1] // the offset is that after the invalid character
		}
		row := before[strings.LastIndexByte(before, '\n')+1:]
		return nil, at(name, text, strings.Count(before, "\n")+1, utf8.RuneCountInString(row)+1, wrong.Error())
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, &Error{File: name, Message: err.Error()}
	}
	return goja.Compile(Root+"/"+name, "(function () { return function (exports, require, module) { module.exports = JSON.parse("+string(quoted)+") } })", false)
}

// common compiles CommonJS source that the engine can parse. If text is not the original source, sourceMap is
// its source map. strict is for ES modules, whose code is always strict.
func common(name, text string, sourceMap []byte, strict bool) (program *goja.Program, err error) {
	defer whatPanics(name, &err)
	tree, shift, err := parse(Root+"/"+name, text, sourceMap)
	if err != nil {
		return nil, located(name, text, shift, err)
	}
	if err := mend(name, tree, false); err != nil {
		return nil, err
	}
	withUses(tree, Uses...)
	pausable(tree)
	if program, err = goja.CompileAST(tree, strict); err != nil {
		return nil, located(name, text, shift, err)
	}
	return program, nil
}

// mend instruments code for the engine, and refuses code that the engine cannot run. If evaluated is true,
// the code comes from an eval, and direct evals in it are refused.
func mend(name string, tree *ast.Program, evaluated bool) error {
	if err := cmp.Or(checkRegexps(name, tree), checkBigInt(name, tree), checkWith(name, tree), withEvalSources(name, tree, evaluated)); err != nil {
		return err
	}
	withArguments(tree)
	withPauses(tree)
	withSizes(tree)
	return nil
}

// whatPanics is deferred. It converts a panic of the engine's parser or compiler to an error.
func whatPanics(name string, err *error) {
	if r := recover(); r != nil {
		*err = &Error{File: name, Message: fmt.Sprintf("the engine's compiler failed: %v", r)}
	}
}

// Library compiles a JavaScript file of the host that is a single function expression. The value of the
// program is a function that takes the pause object and returns the function of the file. The code has no
// yield points, but it reports values that may be large, and the use of async functions and generators.
func Library(name, text string) *goja.Program {
	tree, err := goja.Parse(name, text)
	if err == nil {
		withSizes(tree)
		withUses(tree, UseAsync, UseGenerator)
		pausable(tree)
		var program *goja.Program
		if program, err = goja.CompileAST(tree, false); err == nil {
			return program
		}
	}
	panic(err)
}

// parse returns a program that is one function with text as its body. The function is added to the syntax
// tree, so positions are those of text. Only if text has a return at its top level is the function added to
// the text before parsing. Then shift is the number of bytes before the first line of text.
func parse(name, text string, sourceMap []byte) (tree *ast.Program, shift int, err error) {
	load := parser.WithDisableSourceMaps
	if sourceMap != nil {
		text += "\n//# sourceMappingURL=map"
		load = parser.WithSourceMapLoader(func(string) ([]byte, error) { return sourceMap, nil })
	}
	tree, err = parser.ParseFile(nil, name, text, 0, load)
	if err != nil {
		var list parser.ErrorList
		if !errors.As(err, &list) || !slices.ContainsFunc(list, func(e *parser.Error) bool { return e.Message == "Illegal return statement" }) {
			return nil, 0, err
		}
		head := "(function (" + strings.Join(parameters, ", ") + ") {"
		whole, wrong := parser.ParseFile(nil, name, head+text+"\n})", 0, load)
		if wrong == nil && len(whole.Body) != 1 { // text closes the wrapper function itself
			return nil, 0, err
		}
		return whole, len(head), wrong
	}
	f := &ast.FunctionLiteral{
		Function: 1, Source: text, DeclarationList: tree.DeclarationList,
		ParameterList: &ast.ParameterList{Opening: 1, Closing: 1},
		Body:          &ast.BlockStatement{LeftBrace: 1, List: tree.Body, RightBrace: file.Idx(len(text) + 1)},
	}
	for _, p := range parameters {
		id := &ast.Identifier{Name: unistring.NewFromString(p), Idx: 1}
		f.ParameterList.List = append(f.ParameterList.List, &ast.Binding{Target: id})
	}
	tree.Body = []ast.Statement{&ast.ExpressionStatement{Expression: f}}
	tree.DeclarationList = nil
	return tree, 0, nil
}
