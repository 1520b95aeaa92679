package js

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

var rewriteLanguage = flag.Bool("rewrite-language", false, "write into testdata/language/expressions.json where the engine differs from Node.js without our guards")

// languageRow is a row of testdata/language/expressions.json, which make.js generates.
type languageRow struct {
	Source string `json:"source"`
	Node   string `json:"node"`             // result in Node.js 20
	Engine string `json:"engine,omitempty"` // result in the engine without guards, if it differs
}

// Guarded built-ins return the same as in Node.js, or the same as in the engine without guards.
func TestGuardedBuiltInsAreThoseOfTheLanguage(t *testing.T) {
	const file = "testdata/language/expressions.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []languageRow
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 300 {
		t.Fatal(len(all), err)
	}
	tell, err := os.ReadFile("testdata/language/tell.js")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	source.Write(tell)
	source.WriteString("exports.ssExports = { init() {}, onMessage() { globalThis.result = [\n")
	for _, x := range all {
		source.WriteString("() => (" + x.Source + "),\n")
	}
	source.WriteString("].map(tell); } };")
	g := start(t, calm(), only(source.String()))
	g.handler.OnMessage(message(1, ""))
	result := g.handler.(*Handler).vm.Get("result")
	if result == nil {
		t.Fatal(&g.lines)
	}
	bare := goja.New()
	for i, told := range result.Export().([]any) {
		x := &all[i]
		if *rewriteLanguage {
			x.Engine = ""
		}
		if *rewriteLanguage && told != x.Node {
			v, err := bare.RunString(string(tell) + "; tell(() => (" + x.Source + "))")
			if err != nil {
				t.Fatal(x.Source, err)
			}
			x.Engine = v.String()
		}
		if told != x.Node && told != x.Engine {
			t.Errorf("%s\n got %s\nwant %s", x.Source, told, x.Node)
			if x.Engine != "" {
				t.Errorf("  or %s", x.Engine)
			}
		}
	}
	if !*rewriteLanguage {
		return
	}
	var b strings.Builder
	for i, x := range all {
		line, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString([]string{",\n", "[\n"}[max(0, 1-i)] + string(line))
	}
	if err := os.WriteFile(file, []byte(b.String()+"\n]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
