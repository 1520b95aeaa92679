package modules

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/actors/script"
)

// packageFiles are packages with exports, and a script that requires them.
var packageFiles = []string{
	"main.js", `
		for (const n of ['pat/sub/a', 'pat/sub/deep/x', 'pat/sub/deep/b', 'pat/sub/private/p', 'pat/sub/a.js', 'pat/nope', 'pat', 'pat/', 'pat/package.json', 'pat/s/a.js', 'pat/sub/../a', 'pat/star/a/mid/a',
			'pat/lit.js', 'pat/feat/', 'pat/sub/', 'pat/sub', 'pat/two/a', 'hide', 'hide/x', 'cond', 'cond/only', 'cond/esm', 'cond/null', 'cond/nested', 'cond/number', 'bad/up', 'bad/abs',
			'bad/nm', 'bad/gone', 'bad/noext', 'bad/folder', 'bad/none', 'badmain', 'arr', 'arr/null', 'arr/obj', 'arr/empty', 'arr/all', 'num', 'left', 'left/x', 'left/x.js', './rel', '@o/p', '@o/p/a', '@o/p/b',
			'imp']) {
			let said;
			try { const m = require(n); said = typeof m === 'string' ? m : Object.keys(m); } catch (e) { said = 'refused'; }
			console.log(n, said);
		}
		console.log(require.resolve('pat/sub/a'));
		try { require.resolve('pat/nope'); } catch (e) { console.log('refused'); }
		module.exports = { main: 1 };`,
	"package.json", `{"imports": {"#cfg": "./lib/one.js", "#lib/*": "./lib/*.js", "#left": "left", "#gone": "gone",
		"#node": "node:fs", "#null": null, "#cond": {"import": "./no.js", "node": {"require": "./lib/two.js"}, "default": "./no.js"}, "#bare/*": "left/*", "#pat": "pat/sub/a", "#badtarget": "./../x.js", "#up": "../x.js",
		"#scope": ["./lib/gone.js", "./lib/one.js"]}}`,
	"lib/one.js", "module.exports = 'one'", "lib/two.js", "module.exports = 'two'",
	"rel/package.json", `{"exports": "./no.js", "main": "./yes.js"}`, "rel/yes.js", "module.exports = 'by main'", "rel/no.js", "module.exports = 'by exports'",
	"node_modules/pat/package.json", `{"exports": {"./sub/*": "./s/*.js", "./sub/deep/*": {"import": "./no/*.js", "require": "./d/*.js"}, "./sub/private/*": null, "./star/*/mid/*": "./x", "./lit.js": "./s/a.js", "./two/*": "./s/*/../*.js"}}`,
	"node_modules/pat/s/a.js", "module.exports = 'pat a'", "node_modules/pat/d/x.js", "module.exports = 'pat x'", "node_modules/pat/s/private/p.js", "", "node_modules/pat/index.js", "",
	"node_modules/hide/package.json", `{"exports": {"./y": "./x.js"}, "main": "x.js"}`, "node_modules/hide/x.js", "",
	"node_modules/cond/package.json", `{"exports": {".": {"import": "./imp.js", "require": "./req.js"}, "./only": {"browser": "./imp.js"}, "./esm": {"import": "./imp.js"}, "./null": null, "./nested": {"node": {"import": "./imp.js"},
		"default": "./req.js"}, "./order": {"default": "./node.js", "require": "./req.js", "node": "./imp.js"}, "./stop": {"node": null, "default": "./req.js"}, "./number": 5}}`,
	"node_modules/cond/imp.js", "module.exports = 'imp'", "node_modules/cond/req.js", "module.exports = 'req'", "node_modules/cond/node.js", "module.exports = 'node'",
	"node_modules/bad/package.json", `{"exports": {"./up": "./../left/index.js", "./abs": "/etc/passwd", "./nm": "./node_modules/x.js", "./gone": "./gone.js", "./noext": "./folder/index", "./folder": "./folder", "./none": "bare"}}`,
	"node_modules/bad/folder/index.js", "",
	"node_modules/badmain/package.json", `{"exports": "x.js"}`, "node_modules/badmain/x.js", "",
	"node_modules/mixed/package.json", `{"exports": {".": "./x.js", "node": "./x.js"}}`, "node_modules/mixed/x.js", "",
	"node_modules/arr/package.json", `{"exports": {".": ["./a.js", "./b.js"], "./x": ["bare", "./a.js"], "./null": [null, "./a.js"], "./obj": [{"import": "./no.js"}, "./a.js"], "./empty": [], "./all": [{"import": "./a.js"}, "bare"]}}`,
	"node_modules/arr/a.js", "module.exports = 'arr'",
	"node_modules/num/package.json", `{"exports": 5}`, "node_modules/num/index.js", "",
	"node_modules/left/index.js", "module.exports = 'left'", "node_modules/left/more.js", "module.exports = 'more'", "node_modules/left/x.js", "module.exports = 'left x'",
	"node_modules/@o/p/package.json", `{"exports": {".": "./main.js", "./a": "./a.js"}}`, "node_modules/@o/p/main.js", "module.exports = '@o/p'", "node_modules/@o/p/a.js", "module.exports = '@o/p a'",
	"node_modules/imp/package.json", `{"exports": "./index.js"}`,
	"node_modules/imp/index.js", "for (const n of ['left']) { try { console.log('in imp', n, typeof require(n)); } catch (e) { console.log('in imp', n, 'refused'); } }",
}

// Packages are resolved as in Node.js 20. The expected output is in testdata. If Node.js 20 is installed, the
// test also checks that file against it.
func TestPackagesResolveAsInNode(t *testing.T) {
	const kept = "testdata/packages.txt"
	if node := node20(t); node != "" {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(packageFiles); i += 2 {
			name := filepath.Join(dir, packageFiles[i])
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(packageFiles[i+1]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		said := bytes.ReplaceAll(runNode(t, node, filepath.Join(dir, "main.js")), []byte(dir), []byte("/local/game"))
		if *rewrite {
			if err := os.WriteFile(kept, said, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(kept); err != nil || !bytes.Equal(want, said) {
			t.Errorf("%s is not what Node.js says (%v): go test -run PackagesResolve -rewrite", kept, err)
		}
	}
	want, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	h := enable(t, packageFiles...)
	h.levels = script.LevelInfo
	compare(t, h.run(t, "main.js")+"\n", string(want))
}

// esbuild converts imports of an ES module to calls of require. These calls may use exports with only an
// import condition.
func TestImportsFindPackagesOfES(t *testing.T) {
	says(t, "ERR_PACKAGE_PATH_NOT_EXPORTED\nERR_PACKAGE_PATH_NOT_EXPORTED ERR_MODULE_NOT_SERVED\nes 1 true",
		"main.js", "require('./main.mjs')", "main.mjs", `
			import { es } from 'es'; import fs from 'fs';
			console.log(es, es.length - 1, typeof fs.readFileSync === 'function');
			import './plain.cjs';`,
		"plain.cjs", `
			try { require('es'); } catch (e) { console.log(e.code); }
			const codes = []; for (const n of ['es/hidden', '#net']) try { require(n); } catch (e) { codes.push(e.code); } console.log(...codes);`,
		"node_modules/es/package.json", `{"exports": {".": {"import": "./es.mjs"}, "./hidden": {"import": null}}}`, "node_modules/es/es.mjs", "export const es = 'es'")
}

// A package cannot refer to files outside the bundle, or make the search endless.
func TestHostilePackages(t *testing.T) {
	deep := strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)
	for _, m := range []string{`{"exports": ` + deep + `}`, `{"exports": {".": {"node": ` + deep + `}}}`, `{"exports": "./../../../etc/passwd"}`, `{"exports": "./%2e%2e/x.js"}`, `{"imports": {"#a": "#a"}}`, `{"name": "p", "exports": {"./*": "p/*"}}`, `{"exports`} {
		r := resolver{memo: noMemo, files: map[string][]byte{"node_modules/p/package.json": []byte(m), "package.json": []byte(m), "x.js": nil}}
		for _, request := range []string{"p", "p/a", "#a"} {
			if name, err := r.resolve(request, "main.js"); err == nil {
				t.Errorf("%s of %.40s is %s", request, m, name)
			}
		}
	}
}
