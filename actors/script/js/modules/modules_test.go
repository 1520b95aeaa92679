package modules

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
	"go.uber.org/goleak"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js/compile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a runtime with a bundle, and what it logged.
type host struct {
	*Loader
	runtime *goja.Runtime
	lines   []string
	exit    []int
}

// enable returns a host of files given as name, text, name, text; the first is the
// entry.
func enable(t testing.TB, files ...string) *host {
	t.Helper()
	b := &bundle.Bundle{Files: make(map[string][]byte), NodeVersion: "24.x"}
	for i := 0; i < len(files); i += 2 {
		b.Files[files[i]] = []byte(files[i+1])
	}
	u, err := compile.Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{runtime: goja.New()}
	h.runtime.SetMaxCallStackSize(2000)
	h.Loader = Enable(h.runtime, Options{
		Unit: u, Entry: files[0], Args: []string{"one", "two"}, Metadata: []byte(`{"fleetId": "f"}`),
		Exit: func(code int) {
			h.exit = append(h.exit, code)
			h.runtime.Interrupt("exit")
		},
		Log:      func(level script.Level, text string) { h.lines = append(h.lines, level.String()+" "+text) },
		Uncaught: func(e goja.Value) { h.lines = append(h.lines, "uncaught "+e.String()) },
	})
	return h
}

// run loads the entry and returns what it logged, one line each.
func (h *host) run(t testing.TB, entry string) string {
	t.Helper()
	if _, err := h.Require(entry); err != nil {
		t.Errorf("%v", err)
	}
	return strings.Join(h.lines, "\n")
}

func TestSmoke(t *testing.T) {
	h := enable(t, "main.js", `
const util = require('util');
console.log('%s is %d', 'a', 42, { a: 1, b: [1, 2, { c: { d: 1 } }] }, new Map([[1, { a: 2 }]]), new Buffer.from('abc'), JSON.parse(Buffer.from('{"x":1}')));
console.log(require('./sub').x, process.argv, new Error('x').message, Buffer.from('abc').toString('base64'));
`, "sub/index.js", "exports.x = 1")
	t.Log(h.run(t, "main.js"))
}
