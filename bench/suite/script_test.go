package suite

import (
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	counts := func(set map[int]string) string {
		all := make([]string, tickSteps+1)
		for i := range all {
			all[i] = "0"
			if n, ok := set[i]; ok {
				all[i] = n
			}
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	const head = "03 November 2026 09:05:07,042 [INFO] (tick.js) 46: "
	log := head + "ticks 40 " + counts(map[int]string{0: "40"}) + "\n" +
		head + "something else\n" +
		head + "ticks 40 " + counts(map[int]string{0: "39", 3: "1"}) + "\n" +
		head + "ticks 40 " + counts(map[int]string{0: "39", tickSteps: "1"}) + "\n"
	var all ticks
	if n, err := all.add(log, 1); n != 2 || err != nil || all.total() != 80 {
		t.Errorf("%d reports, %d ticks, %v", n, all.total(), err)
	}
	for q, want := range map[float64]float64{0.5: 0.5, 0.98: 2, 0.9999: 50} {
		if got := all.quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	for _, bad := range []string{head + "ticks 1 [1,2]\n", head + "ticks\n" + head + "ticks 1 x\n"} {
		if _, err := new(ticks).add(bad, 0); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if new(ticks).quantile(0.99) != 0 {
		t.Error("a quantile of nothing")
	}
}
