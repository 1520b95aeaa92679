package node

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"troupe/actors/script/bundle"
)

// typescript reports whether a file must be compiled to JavaScript. Node.js itself supports only TypeScript
// whose types can simply be erased.
func typescript(name string) bool {
	if strings.HasSuffix(name, ".d.ts") || strings.Contains("/"+name, "/node_modules/") {
		return false
	}
	return slices.Contains([]string{".ts", ".mts", ".cts"}, path.Ext(name))
}

// imports matches scripts that may be ES modules, or load some.
var imports = regexp.MustCompile(`\b(import|export)\b`)

// translated returns the files of b, with TypeScript compiled to CommonJS. If scripts run in contexts, so are
// ES modules: Node.js loads them into a context only behind a flag. Compiled files keep their names and contain
// source maps. any reports whether there are such files.
func translated(b *bundle.Bundle, contexts bool) (files map[string][]byte, any bool, err error) {
	files = make(map[string][]byte, len(b.Files))
	for name, data := range b.Files {
		o := api.TransformOptions{
			Loader: api.LoaderTS, Format: api.FormatCommonJS, Platform: api.PlatformNode, Target: api.ES2022, Sourcefile: path.Base(name),
			Sourcemap: api.SourceMapInline, SourcesContent: api.SourcesContentExclude, Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent,
			KeepNames:   true, // esbuild renames functions and classes that shadow outer ones; keep their name property
			TsconfigRaw: `{"compilerOptions": {"experimentalDecorators": true}}`,
		}
		if contexts {
			o.Supported = map[string]bool{"dynamic-import": false}
			o.Define = map[string]string{"import.meta.url": "module.url", "import.meta.filename": "module.filename", "import.meta.dirname": "module.path"}
		}
		if !typescript(name) {
			if o.Loader = api.LoaderJS; !contexts || !slices.Contains([]string{".js", ".mjs", ".cjs"}, path.Ext(name)) || !imports.Match(data) {
				files[name] = data
				continue
			}
		}
		any = true
		r := api.Transform(string(data), o)
		if len(r.Errors) > 0 {
			m := r.Errors[0]
			if m.Location == nil {
				return nil, true, fmt.Errorf("%s: %s", name, m.Text)
			}
			return nil, true, fmt.Errorf("%s:%d:%d: %s\n    %s", name, m.Location.Line, m.Location.Column+1, m.Text, m.Location.LineText)
		}
		files[name] = r.Code
	}
	return files, any, nil
}
