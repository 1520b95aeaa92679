package js

import "testing"

func TestWhatAScriptNeedsGuardsFor(t *testing.T) {
	for source, want := range map[string]needs{
		`class A { constructor() { this.x = [].map(x => x); } }`: {},
		`new Function('return 1')`:                               {any: true, functions: true, bytes: true},
		`(async () => {}).constructor('x')`:                      {any: true, functions: true, bytes: true},
		`f['constructor']('x')`:                                  {any: true, functions: true, bytes: true},
		`eval(x)`:                                                {evals: true, bytes: true},
		`a.flat(Infinity)`:                                       {any: true, flats: true},
		`JSON.parse(x)`:                                          {json: true},
		`delete global.Uint8Array`:                               {bytes: true},
	} {
		if got := needsOf(map[string][]byte{"a.js": nil, "b.js": []byte(source)}); got != want {
			t.Errorf("%s: %+v", source, got)
		}
	}
}

func TestJSONThatIsWrongIsToldInTheWordsOfNode(t *testing.T) {
	g := start(t, calm(), only(`
const said = f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } };
exports.ssExports = { init(s) {
  const log = s.getLogger();
  log.info(said(() => JSON.parse('{x}')));
  log.info(said(() => JSON.parse('')));
  log.info(said(() => JSON.parse()));
  log.info(said(() => JSON.parse(Buffer.from('[1,'))));
  log.info(said(() => JSON.parse('[1]', () => { throw new Error('mine'); })));
  log.info(said(() => JSON.parse('[1, 2]', (k, v) => v)[1]));
} };`))
	for _, want := range []string{
		`SyntaxError: Expected property name or '}' in JSON at position 1`, "SyntaxError: Unexpected end of JSON input", `SyntaxError: "undefined" is not valid JSON`,
		"Error: mine", "10: 2",
	} {
		g.logged(t, want)
	}
}
