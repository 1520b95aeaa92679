package js

import (
	"errors"
	"strings"
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js/compile"
	"troupe/messages/counters"
)

func TestAStartThatFailsSaysWhy(t *testing.T) {
	for source, says := range map[string]string{
		`exports.x = 1;`:                                             "server.js: the script does not export ssExports",
		`exports.ssExports = null;`:                                  "does not export ssExports",
		`exports.ssExports = {};`:                                    "ssExports has no function init",
		`exports.ssExports = { init: 5 };`:                           "ssExports has no function init",
		`exports.ssExports = { init() { throw new Error('no'); } };`: "init failed",
		"\n  null.x;":                                                "server.js:2:8: loading server.js: TypeError: Cannot read property 'x' of",
		"const a = 1;\nconst a = 2;":                                 "server.js:2:7: SyntaxError",
		"const a = ;":                                                "server.js:1:11: SyntaxError",
		`fetch('x');`:                                                `ReferenceError: fetch is not defined: the embedded engine does not have it; to run the script in Node.js, set "troupe": {"engine": "node"} in package.json`,
		`throw 'text';`:                                              "loading server.js: text",
		`process.exit(2);`:                                           "process.exit",
		`(function f() { f(); })();`:                                 "loading server.js: RangeError",
		`require('./gone');`:                                         "./gone",
	} {
		g, err := load(t, actorstest.ScriptLimits(), only(source))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", source, err, says)
		}
		if log := g.lines.String(); (strings.Count(log, "[ERROR]") != 1) != (strings.Contains(source, "exit") || strings.Contains(source, "const a")) {
			t.Errorf("%s: log: %s", source, log)
		}
	}
}

func TestCallbacksMayBeExportedByDefault(t *testing.T) {
	const init = `{ init(s) { s.getLogger().info('begun'); } }`
	for source, typ := range map[string]string{
		"export default { ssExports: " + init + " };":                                       "module",
		"exports.ssExports = null; exports.default = { ssExports: " + init + " };":          "commonjs",
		"exports.ssExports = " + init + "; exports.default = { ssExports: {} };":            "commonjs",
		"export const ssExports = " + init + "; export default { ssExports: { init: 5 } };": "module",
	} {
		g, err := load(t, actorstest.ScriptLimits(), map[string]string{"server.js": source, "package.json": `{"type": "` + typ + `"}`})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		g.logged(t, "begun")
	}
	for source, says := range map[string]string{
		`module.exports = { get ssExports() { throw new Error('no') } };`: "Error: no",
		`exports.default = { ssExports: 5 };`:                             "does not export ssExports",
		`exports.default = 'ssExports';`:                                  "does not export ssExports",
	} {
		if _, err := load(t, actorstest.ScriptLimits(), only(source)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", source, err, says)
		}
	}
}

func TestCheckFindsWhatIsWrongBeforeAnyGame(t *testing.T) {
	good := "exports.ssExports = { init() {} }; setTimeout(() => {}, 1); setImmediate(() => {}); console.log('x');"
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"good":                  {map[string]string{"server.js": good}, ""},
		"another file's syntax": {map[string]string{"server.js": good, "lib/b.js": "let a;\nlet a = (;"}, "lib/b.js:2:"},
		"thrown at the top":     {map[string]string{"server.js": "require('./b');\n" + good, "b.js": "\n\nundefined.y;"}, ""},
		"never loaded":          {map[string]string{"server.js": "for (;;);"}, ""},
		"another entry":         {map[string]string{"other.js": good}, "server.js"},
	} {
		b := &bundle.Bundle{Files: map[string][]byte{}}
		for file, source := range c.files {
			b.Files[file] = []byte(source)
		}
		err := Check(b, "server.js")
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestABadJSONFileIsNamed(t *testing.T) {
	files := only("const x = 1;\n  require('./lib/bad');")
	files["lib/bad.json"] = "{\n  \"name\": \"žluť\", \"size\": }\n"
	_, err := load(t, actorstest.ScriptLimits(), files)
	for _, want := range []string{"server.js:2:", "SyntaxError: lib/bad.json:2:27: SyntaxError: invalid character '}'"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestErrorsOfCheckHavePlaces(t *testing.T) {
	var e *LoadError
	if _, err := load(t, actorstest.ScriptLimits(), only("let x;\nx.y();")); !errors.As(err, &e) || e.File != "server.js" || e.Line != 2 || e.Column == 0 {
		t.Errorf("%+v", e)
	}
	b := &bundle.Bundle{Files: map[string][]byte{"server.js": []byte("let x;\nlet 5;")}}
	var s *compile.Error
	if err := Check(b, "server.js"); !errors.As(err, &s) || s.Line != 2 {
		t.Errorf("%+v", s)
	}
}

func TestNothingIsHeavyBeforeTheFirstGame(t *testing.T) {
	p := program(t, echo)
	h, err := p.NewHandler(script.Process{Counters: new(counters.Set)})
	if err != nil || h.(*Handler).vm != nil || p.Version() != "v1" {
		t.Error(err, p.Version())
	}
	h.(script.Closer).Close()
}

func TestGamesOfOneProgramShareNothingButCode(t *testing.T) {
	files := body(`onMessage() { globalThis.n = (globalThis.n || 0) + 1; Array.prototype.x = globalThis.n; logger.info('n', globalThis.n, [].x); }`)
	a, b := start(t, actorstest.ScriptLimits(), files), start(t, actorstest.ScriptLimits(), files)
	a.handler.OnMessage(message(1, ""))
	a.handler.OnMessage(message(1, ""))
	b.handler.OnMessage(message(1, ""))
	a.logged(t, "n 2 2")
	b.logged(t, "n 1 1")
}

// The default import of an .mjs file in another one is its default export, and positions refer to the .mjs
// file.
func TestDefaultImportsOfMJS(t *testing.T) {
	g := start(t, calm(), map[string]string{
		"server.js": `exports.ssExports = require('./main.mjs').ssExports;`,
		"main.mjs": `import y, { z } from './y.mjs';
import c from './c.cjs';
import * as all from './y.mjs';
export const ssExports = { init(s) {
  const log = s.getLogger();
  log.info(y, z, c.a, all.default);
  try { nothing(); } catch (e) { log.info(e.stack); }
} };`,
		"y.mjs": `export default 5; export const z = 6;`, "c.cjs": `module.exports = { a: 7 };`,
	})
	g.logged(t, "5 6 7 5")
	g.logged(t, "main.mjs:7:")
}

// The log tells what the engine lacks or limits, and gives advice.
func TestCallbacksThatUseWhatTheEngineLacks(t *testing.T) {
	const what = `; to run the script in Node.js, set "troupe": {"engine": "node"} in package.json`
	for source, says := range map[string]string{
		`Object.groupBy([], x => x)`:                       `Object has no member 'groupBy': the embedded engine does not have it`,
		`process.hrtime.bigint()`:                          `Object has no member 'bigint': the embedded engine does not have it`,
		`require('path').win32.join('a', 'b')`:             `the embedded engine does not have path/win32.join`,
		`require('fs').readFileSync('/etc/passwd')`:        `EACCES: permission denied, open '/etc/passwd': the embedded engine does not allow it`,
		`require('fs').writeFileSync('scores.json', '{}')`: `EROFS: read-only file system, writeFile 'scores.json': the embedded engine does not allow it`,
		`'a'.repeat(5e6)`:                                  `Invalid string length: the embedded engine does not allow it`,
		`new Array(2e6).fill(0)`:                           `a list of 2000000 is too long for fill: the embedded engine does not allow it`,
		`JSON.parse('['.repeat(20000))`:                    `JSON is nested more than 10000 levels deep: the embedded engine does not allow it`,
		`new RegExp('a', 'd')`:                             `Invalid flags supplied to RegExp constructor 'd': the embedded engine does not allow it`,
		`new RegExp('\\p{L}', 'u').test('\u00e9')`:         `the embedded engine does not have \p{...} in a regular expression; to run the script in Node.js`,
		`throw new Error((1234.5).toLocaleString('de-DE') + (7).toLocaleString('en') + new RegExp('\\p{', 'g').flags)`: `Error: 1234.57g`,
	} {
		g := start(t, calm(), only(`exports.ssExports = { init() {}, onMessage() { `+source+`; } };`))
		g.handler.OnMessage(message(1, ""))
		if g.logged(t, says); !strings.HasPrefix(says, "Error") && !strings.Contains(says, "to run it") {
			g.logged(t, what)
		}
	}
}

// The log warns of a function whose name looks like that of a callback.
func TestCallbacksThatDoNotExist(t *testing.T) {
	g := start(t, calm(), only(`exports.ssExports = { init() {}, onMessage() {}, configuration: {}, helper() {}, once: 5, on: {},
		onmessage() {}, OnPlayerAccepted() {}, onPlayerJoin() {}, get onTick() { throw new Error('no'); } };`))
	for _, name := range []string{"onmessage", "OnPlayerAccepted", "onPlayerJoin"} {
		g.logged(t, "[WARN] (script) 0: ssExports."+name+" is never called: there is no such callback")
	}
	if log := g.lines.String(); strings.Count(log, "[WARN]") != 3 {
		t.Errorf("log: %s", log)
	}
}
