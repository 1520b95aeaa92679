package scripts

import (
	"encoding/base64"
	"testing"
)

// What bundlers and compilers make of a script runs as in Node.js.

// A source map in the file says nothing about where its lines are: they are counted in
// the file, also when it has to be lowered.
func TestASourceMapInTheFileIsNotUsed(t *testing.T) {
	text := base64.StdEncoding.EncodeToString([]byte(`{"version":3,"sources":["a.ts","b.ts","c.ts"],"names":[],"mappings":"AAAA;ACAA;ACAA;AAAA;AAAA"}`))
	everyEngine(t, func(t *testing.T, e engine) {
		for _, comment := range []string{"//# sourceMappingURL=", "/* */ //# sourceMappingURL="} {
			w := start(t, e, one(t, "async function* some() { yield 1 }\nlet session;\n"+
				"exports.ssExports = { async init(s) { session = s; for await (const n of some()) console.log(n);\n"+
				"  try { nothing() } catch (e) { console.log(e.name, /script.js:4:/.test(e.stack)) } } };\n"+comment+"data:application/json;base64,"+text+"\n"), setup{})
			w.newGame(4)
			w.log.await(t, "ReferenceError")
			if comment[1] == '/' {
				w.wrote("INFO script.js:3 1", "INFO script.js:4 ReferenceError true")
			}
		}
	})
}
