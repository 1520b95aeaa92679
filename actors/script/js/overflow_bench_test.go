package js

import (
	"testing"

	"troupe/actors/script"
)

// One hostile game session after the other: start, overflow of the stack, end.
func BenchmarkOverflow(b *testing.B) {
	for name, body := range map[string]string{
		"none":    ``,
		"plain":   `const deeper = (n) => deeper(n + 1) + 1; deeper(0);`,
		"caught":  `const deeper = (n) => deeper(n + 1) + 1; for (;;) { try { deeper(0); } catch (e) { } }`,
		"foreach": `(function f() { [1].forEach(f); })();`,
		"try":     `(function f() { try { f(); } catch (e) { f(); } })();`,
		"getter":  `const o = { get x() { return this.x; } }; o.x;`,
	} {
		b.Run(name, func(b *testing.B) {
			p := program(b, `exports.ssExports = { init() {}, onMessage() { `+body+` } };`)
			n, before := 0, cpu()
			for ; b.Loop(); n++ {
				h, _ := p.NewHandler(script.Process{Counters: shared})
				if err := h.Init(new(sink)); err != nil {
					b.Fatal(err)
				}
				h.OnMessage(&script.Message{OpCode: 1, Sender: 1})
				h.(script.Closer).Close()
			}
			b.ReportMetric(float64(cpu()-before)/float64(n), "cpu-ns/op") // with the garbage collector's
		})
	}
}
