package scripts

import (
	"encoding/base64"
	"testing"
)

// The output of bundlers and compilers must run as in Node.js.

// A source map in the file does not affect the line numbers in the log. They refer to the file itself, also
// if the file was lowered.
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

// Packages use NODE_ENV to decide what they check and warn about.
func TestEnvironmentIsProduction(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, "console.log(process.env.NODE_ENV, 'NODE_ENV' in process.env, process.env.SECRET);\nexports.ssExports = { init() {} };"), setup{})
		w.newGame(4)
		w.wrote("INFO script.js:1 production true undefined")
	})
}

// Leaving a loop over an async generator runs the generator's finally block completely, even if that block
// awaits.
func TestAsyncGeneratorsCleanUp(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
const later = (v) => new Promise((r) => setTimeout(r, 1, v));
async function* inner() { try { yield 1; yield 2 } finally { console.log('inner', await later('cleans')); await null; console.log('inner is done') } }
async function* outer() { try { yield* inner() } finally { await null; console.log('outer is done') } }
exports.ssExports = { async init() {
  for await (const n of inner()) break;
  try { for await (const n of outer()) throw new Error('stop') } catch (e) { console.log(e.message) }
  const g = inner();
  await g.next();
  console.log(await g.return(later('returned')), await g.next());
  console.log('end');
} };`), setup{})
		w.newGame(4)
		w.log.await(t, "end")
		w.wrote("INFO script.js:3 inner cleans", "INFO script.js:3 inner is done",
			"INFO script.js:3 inner cleans", "INFO script.js:3 inner is done", "INFO script.js:4 outer is done", "INFO script.js:7 stop",
			"INFO script.js:3 inner cleans", "INFO script.js:3 inner is done", "INFO script.js:10 { value: 'returned', done: true } { value: undefined, done: true }",
			"INFO script.js:11 end")
	})
}
