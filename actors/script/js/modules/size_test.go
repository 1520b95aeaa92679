package modules

import (
	"runtime"
	"testing"

	"github.com/dop251/goja"
)

// heap returns the number of live bytes per value, for n values created by make.
func heap(n int, make func() any) float64 {
	keep := []any{}
	var before, after runtime.MemStats
	make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		keep = append(keep, make())
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keep)
	return (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(n) / 1024
}

// A runtime must be small, because a host has thousands of game sessions that wait for players.
func TestRuntimesStaySmall(t *testing.T) {
	const n = 50
	unit := enable(t, "main.js", "").options.Unit
	bare := heap(n, func() any { return goja.New() })
	enabled := heap(n, func() any {
		r := goja.New()
		return []any{r, Enable(r, alone(unit, "main.js"))}
	}) - bare
	t.Logf("a runtime: %.1f KiB, with modules enabled %.1f more", bare, enabled)
	if enabled > 4 {
		t.Errorf("Enable costs %.1f KiB", enabled)
	}
	for _, c := range []struct {
		source string
		max    float64
	}{
		{"inspect", 26}, {"console", 30}, {"util", 22}, {"events", 42}, {"process", 110}, {"buffer", 80}, {"assert", 110}, {"path", 18},
		{"url", 230}, {"fs", 220}, {"crypto", 130}, {"os", 26}, {"timers", 22},
	} {
		grown := heap(n, func() any {
			r := goja.New()
			l := Enable(r, alone(unit, "main.js"))
			l.Builtin(c.source)
			return []any{r, l}
		}) - bare - enabled
		t.Logf("%-12s %6.1f KiB", c.source, grown)
		if grown > c.max {
			t.Errorf("%s costs %.1f KiB, more than %.0f", c.source, grown, c.max)
		}
	}
}
