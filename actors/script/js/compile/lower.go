package compile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"
)

// imports matches a module that may only import.
var imports = regexp.MustCompile(`(?m)^import[\s{*"']`)

func loaderOf(name string) api.Loader {
	switch path.Ext(name) {
	case ".ts", ".cts", ".mts":
		return api.LoaderTS
	}
	return api.LoaderJS
}

// supported is what differs from the target. The engine does not parse what is false, and esbuild can replace it. Regular expressions are for the engine.
var supported = map[string]bool{
	"async-generator": false,
	"for-await":       false,
	"dynamic-import":  false,
	"decorators":      false,
	"using":           false,
	"hashbang":        false,

	"regexp-match-indices":            true,
	"regexp-set-notation":             true,
	"regexp-unicode-property-escapes": true,
}

// lower compiles source that esbuild has lowered first. What the engine cannot parse then is an error.
func lower(name, text string, lang api.Loader, esm bool) (*goja.Program, error) {
	if esm {
		// esbuild takes a file without import and export for CommonJS.
		text += "\nexport {}"
	}
	text = inlineMap.ReplaceAllString(text, "$1")
	options := api.TransformOptions{
		Format: api.FormatCommonJS, Target: api.ES2022, Supported: supported, Platform: api.PlatformNode,
		Loader: lang, Sourcefile: sourceName(name), Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent, TreeShaking: api.TreeShakingFalse,
		TsconfigRaw: `{"compilerOptions": {"experimentalDecorators": true, "verbatimModuleSyntax": false}}`,
		Define: map[string]string{
			"import.meta.url": string(literal("file://" + Root + "/" + name)), "import.meta.filename": string(literal(Root + "/" + name)),
			"import.meta.dirname": string(literal(path.Dir(Root + "/" + name))),
		},
	}
	r := api.Transform(text, options)
	if len(r.Errors) > 0 {
		return nil, refused(name, r.Errors[0])
	}
	r.Code = bytes.Replace(r.Code, returnAgain, returnOnce, 1)
	r.Map = bytes.Replace(r.Map, literal(options.Sourcefile), literal(path.Base(name)), 1)
	strict := esm || bytes.Contains(r.Code, []byte("module.exports = __toCommonJS(")) || imports.MatchString(text)
	program, err := common(name, string(r.Code), r.Map, strict)
	if err != nil {
		e, ok := err.(*Error)
		if !ok || e.final {
			return nil, err
		}
		// The place may be one in the lowered source, so the error shows no text.
		return nil, &Error{File: name, Line: e.Line, Column: e.Column, Message: fmt.Sprintf("the embedded engine cannot run this: %s; %s", e.Message, UseNode)}
	}
	return program, nil
}

// In esbuild's helper for async generators, a return ends the generator at the first await in a finally, and not at the end of the finally. v[1] is
// for yield*, which returns to another generator.
var (
	returnAgain = []byte(`k === "return" ? k : "next"`)
	returnOnce  = []byte(`k === "return" && v[1] ? k : "next"`)
)

// inlineMap is a source map that a bundler has left: with it, errors would have lines of files that are not in the bundle.
var inlineMap = regexp.MustCompile(`(?m)^([ \t]*//)[#@] sourceMappingURL=data:.*$`)

func literal(text string) []byte {
	b, _ := json.Marshal(text)
	return b
}

// sourceName is the name of a file for esbuild. In an .mjs file, esbuild would take the default import of another .mjs file for all exports of that
// file: it does not know that the other file is lowered, too.
func sourceName(name string) string {
	ext := path.Ext(name)
	return strings.TrimSuffix(path.Base(name), ext) + strings.Replace(ext, ".m", ".", 1)
}

// refused returns an error of esbuild.
func refused(name string, m api.Message) error {
	if m.Location == nil {
		return &Error{File: name, Message: m.Text}
	}
	text := strings.ReplaceAll(m.Text, `is currently not supported with the "cjs" output format`, "is not supported yet")
	if m.Location.Line > 0 && len(text) > 0 && unlowerable.MatchString(text) {
		text += "; " + UseNode
	}
	column := len([]rune(m.Location.LineText[:min(m.Location.Column, len(m.Location.LineText))])) + 1
	e := at(name, m.Location.LineText, 1, column, text)
	e.Line = m.Location.Line
	return e
}
