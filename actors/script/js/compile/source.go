package compile

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/unistring"
)

// parameters are those of a CommonJS module.
var parameters = []string{"exports", "require", "module", "__filename", "__dirname"}

// source compiles one file; esm: it is an ES module whatever is in it.
func source(name string, data []byte, esm bool) (*goja.Program, error) {
	if len(data) > SourceMax {
		return nil, &Error{File: name, Message: fmt.Sprintf("%d bytes of source are more than %d; %s", len(data), SourceMax, useNode)}
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
	if !esm && lang == loaderJS {
		program, err := common(name, text, nil, false)
		if e, ok := err.(*Error); err == nil || ok && e.final {
			return program, err
		}
	}
	return lower(name, text, lang, esm)
}

// jsonProgram is what a required JSON file does; it is parsed by the engine.
func jsonProgram(name, text string) (*goja.Program, error) {
	if err := checkJSON(name, text); err != nil {
		return nil, err
	}
	var wrong *json.SyntaxError
	if err := json.Unmarshal([]byte(text), new(json.RawMessage)); errors.As(err, &wrong) {
		before := text[:wrong.Offset]
		if wrong.Error() != "unexpected end of JSON input" {
			before = text[:wrong.Offset-1] // the offset is behind what is wrong
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

// common compiles CommonJS source that the engine can parse. mapped is the source
// map of text, if it is not the original; strict is what ES modules are.
func common(name, text string, sourceMap []byte, strict bool) (*goja.Program, error) {
	if program, err := assemble(name, text, sourceMap, strict, true); err == nil {
		return program, nil
	}
	return assemble(name, text, sourceMap, strict, false) // nested as deeply as can be, or wrong
}

// assemble is common with pauses or without.
func assemble(name, text string, sourceMap []byte, strict, pauses bool) (program *goja.Program, err error) {
	defer func() {
		// Parser and compiler are not ours: what they cannot take must not end the host.
		if r := recover(); r != nil {
			program, err = nil, &Error{File: name, Message: fmt.Sprintf("the engine's compiler failed: %v", r)}
		}
	}()
	tree, shift, err := parse(Root+"/"+name, text, sourceMap)
	if err != nil {
		return nil, located(name, text, shift, err)
	}
	if err := checkRegexps(name, tree); err != nil {
		return nil, err
	}
	if err := checkBigInt(name, tree); err != nil {
		return nil, err
	}
	withArguments(tree)
	withEvalSources(tree)
	if err := checkEvals(name, tree); err != nil {
		return nil, err
	}
	if pauses {
		withPauses(tree)
	}
	withUses(tree)
	pausable(tree)
	program, err = goja.CompileAST(tree, strict)
	if err != nil {
		return nil, located(name, text, shift, err)
	}
	return program, nil
}

// parse returns a program that is one function expression with text as its body.
// The function is put around the syntax tree, not around the text, so that all
// positions are those of text. Only a return at the top needs the function to be
// there when it is parsed: shift bytes of it precede the first line then.
func parse(name, text string, sourceMap []byte) (tree *ast.Program, shift int, err error) {
	load := parser.WithDisableSourceMaps
	if sourceMap != nil {
		text += "\n//# sourceMappingURL=map"
		load = parser.WithSourceMapLoader(func(string) ([]byte, error) { return sourceMap, nil })
	}
	tree, err = parser.ParseFile(nil, name, text, 0, load)
	if err != nil {
		var list parser.ErrorList
		if !errors.As(err, &list) || !returns(list) {
			return nil, 0, err
		}
		head := "(function (" + strings.Join(parameters, ", ") + ") {"
		whole, wrong := parser.ParseFile(nil, name, head+text+"\n})", 0, load)
		if wrong == nil && len(whole.Body) != 1 { // text has more than a body
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
