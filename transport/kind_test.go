package transport

import "testing"

func TestMetricsCallATransportByItsName(t *testing.T) {
	t.Parallel()
	for k := WS; int(k) < KindCount; k++ {
		if got := k.Channel().String(); got != k.String() {
			t.Errorf("metrics call %v %q", k, got)
		}
	}
	if Kind(0).Channel() != 0 || Kind(KindCount).Channel() != 0 {
		t.Error("an invalid transport has a channel")
	}
}
