package modules

import (
	"testing"

	"github.com/dop251/goja"
)

func BenchmarkFormat(b *testing.B) {
	h := enable(b, "main.js", "")
	for _, c := range []struct{ name, text string }{
		{"string", "'player 5 joined'"}, {"number", "12.5"},
		{"small object", "({ peerId: 1, playerSessionId: 'psess-1' })"},
		{"map of players", "new Map(Array.from({ length: 8 }, (_, i) => [i, { peerId: i, playerSessionId: 'psess-' + i }]))"},
	} {
		v, err := h.runtime.RunString(c.text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Format(v)
			}
		})
	}
}

func BenchmarkBuffer(b *testing.B) {
	h := enable(b, "main.js", "exports.f = (s) => JSON.parse(Buffer.from(s)).a")
	exports, err := h.Require("main.js")
	if err != nil {
		b.Fatal(err)
	}
	f, _ := goja.AssertFunction(exports.ToObject(h.runtime).Get("f"))
	text := h.runtime.ToValue(`{"a": 1, "b": "0123456789012345678901234567890123456789"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f(goja.Undefined(), text); err != nil {
			b.Fatal(err)
		}
	}
}
