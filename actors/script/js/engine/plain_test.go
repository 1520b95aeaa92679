package engine

import (
	"fmt"
	"testing"

	"github.com/dop251/goja"
)

func TestKindsOfPlainValues(t *testing.T) {
	vm := goja.New()
	for source, want := range map[string]Kind{
		"undefined": Undefined, "null": Null, "true": Boolean, "1": Integer, "1.5": Float, "-0": Float, "NaN": Float,
		"''": ASCIIText, "'x'.repeat(9)": ASCIIText, "'\u00e4'": WideText, "outside": WideText, "({})": Reference, "Symbol()": Other, "10n": Other,
	} {
		if err := vm.Set("outside", "a text from outside of the engine"); err != nil {
			t.Fatal(err)
		}
		v, err := vm.RunString(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := KindOf(v); got != want {
			t.Errorf("%s is of kind %d, want %d", source, got, want)
		}
	}
	for source, want := range map[string]string{
		"({ b: 1, a: 2, 7: 3, 5: 4 })": "[5 7 b a]", "Object.create({ x: 1 })": "[]", "new (class { x = 1 })()": "[x]",
		"[1, 2]": "2 elements", "[1, , 2]": "3 elements", "const a = [1]; a.length = 5; a": "", "new Map()": "", "JSON.rawJSON('1')": "", "new Error()": "", "/x/": "",
		"Object.prototype": "prototype", "Array.prototype": "prototype", "new Proxy({}, {})": "", "new Date()": "",
	} {
		v, err := vm.RunString("{" + source + "}")
		if err != nil {
			t.Fatal(err)
		}
		o, got := v.(*goja.Object), ""
		if r := RecordOf(o); r != nil {
			got = fmt.Sprint(r.Names())
		} else if list, rest := ListOf(o); rest != nil {
			got = fmt.Sprint(len(list), " elements")
		} else if PrototypeOf(o) != nil {
			got = "prototype"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", source, got, want)
		}
	}
}
