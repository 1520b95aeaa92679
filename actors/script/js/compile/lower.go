package compile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"

	"troupe/messages/lazy"
)

// imports matches an import statement at the start of a line. A file with such a statement is an ES module,
// even if it exports nothing.
var imports = lazy.Regexp(`(?m)^import[\s{*"']`)

func loaderOf(name string) api.Loader {
	switch path.Ext(name) {
	case ".ts", ".cts", ".mts":
		return api.LoaderTS
	}
	return api.LoaderJS
}

// supported lists exceptions to the compile target. The engine cannot parse the features that are false, so
// esbuild must lower them. The features that are true are left to the engine: esbuild would replace these
// regular expressions with constructor calls.
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

// lower compiles source with esbuild and then with the engine. Syntax that the engine cannot parse even then
// is an error.
func lower(name, text string, lang api.Loader, esm bool) (*goja.Program, error) {
	if esm {
		// esbuild treats a file without import and export as CommonJS.
		text += "\nexport {}"
	}
	text = inlineMap().ReplaceAllString(text, "$1")
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
	strict := esm || bytes.Contains(r.Code, []byte("module.exports = __toCommonJS(")) || imports().MatchString(text)
	program, err := common(name, string(r.Code), r.Map, strict)
	if err != nil {
		e, ok := err.(*Error)
		if !ok || e.final {
			return nil, err
		}
		// The position may be one in the lowered source, so the error does not show the source line.
		return nil, &Error{File: name, Line: e.Line, Column: e.Column, Message: fmt.Sprintf("the embedded engine cannot run this: %s; %s", e.Message, UseNode)}
	}
	return program, nil
}

// esbuild's helper for async generators has a bug: after a return, the generator ends at the first await of a
// finally block, not at the end of that block. Replacing returnAgain with returnOnce fixes the helper. v[1]
// marks yield*, which passes the return to another generator.
var (
	returnAgain = []byte(`k === "return" ? k : "next"`)
	returnOnce  = []byte(`k === "return" && v[1] ? k : "next"`)
)

// inlineMap matches an inline source map that a bundler has left. With it, errors would have positions in
// files that are not in the bundle.
var inlineMap = lazy.Regexp(`(?m)^([ \t]*//)[#@] sourceMappingURL=data:.*$`)

func literal(text string) []byte {
	b, _ := json.Marshal(text)
	return b
}

// sourceName returns the file name to give to esbuild, with .js instead of .mjs (and .ts instead of .mts). In
// an .mjs file, esbuild assumes Node.js semantics: the default import of a CommonJS module is the whole
// exports object. But other .mjs files are lowered to CommonJS too, and their default import must be their
// default export.
func sourceName(name string) string {
	ext := path.Ext(name)
	return strings.TrimSuffix(path.Base(name), ext) + strings.Replace(ext, ".m", ".", 1)
}

// refused converts an error of esbuild.
func refused(name string, m api.Message) error {
	if m.Location == nil {
		return &Error{File: name, Message: m.Text}
	}
	text := strings.ReplaceAll(m.Text, `is currently not supported with the "cjs" output format`, "is not supported yet")
	if m.Location.Line > 0 && len(text) > 0 && unlowerable().MatchString(text) {
		text += "; " + UseNode
	}
	column := len([]rune(m.Location.LineText[:min(m.Location.Column, len(m.Location.LineText))])) + 1
	e := at(name, m.Location.LineText, 1, column, text)
	e.Line = m.Location.Line
	return e
}
