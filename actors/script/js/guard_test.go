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
