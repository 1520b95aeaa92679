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

// A file that has to be lowered keeps the names of its functions and classes, also where
// one hides another: what TypeScript makes of a decorated class, and scripts that tell
// classes apart by constructor.name.
func TestNamesOfFunctionsAndClassesAreKept(t *testing.T) {
	const text = `
const registered = (c) => (console.log('registered', c.name), c);
let Player = class Player { static self() { return Player.name } };
Player = registered(Player);
function tick() {}
const made = [class tick {}, function tick() {}, async function tick() {}, (tick) => tick];
{
  class Player { hp = 1 }
  const tick = () => {};
  console.log(new Player(), Player.name, tick.name, tick);
}
async function* some() { yield 1 }
exports.ssExports = { async init() {
  for await (const n of some()) console.log(n, new Player().constructor.name, Player.self(), made.map((f) => f.name).join());
} };`
	everyEngine(t, func(t *testing.T, e engine) {
		for _, name := range []string{"script.js", "script.ts"} {
			w := start(t, e, files(t, name, text), setup{Launch: name})
			w.newGame(4)
			w.log.await(t, "1 Player")
			w.wrote("INFO "+name+":2 registered Player", "INFO "+name+":10 Player { hp: 1 } Player tick [Function: tick]",
				"INFO "+name+":14 1 Player Player tick,tick,tick,")
		}
	})
}

// Packages decide by NODE_ENV what they check and warn of.
func TestEnvironmentIsProduction(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, "console.log(process.env.NODE_ENV, 'NODE_ENV' in process.env, process.env.SECRET);\nexports.ssExports = { init() {} };"), setup{})
		w.newGame(4)
		w.wrote("INFO script.js:1 production true undefined")
	})
}
