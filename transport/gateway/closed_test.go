package gateway

import (
	"testing"
	"time"

	"troupe/messages"
)

func TestClosedConnectionsAreBoundedAndTheNewestComesFirst(t *testing.T) {
	g := new(Gateway)
	if len(g.Closed()) != 0 {
		t.Error("there is one")
	}
	for i := range closedMax + 7 {
		g.closed.add(messages.ClosedConnection{Lasted: time.Duration(i)})
		all := g.Closed()
		if len(all) != min(i+1, closedMax) || all[0].Lasted != time.Duration(i) {
			t.Fatalf("after %d: %d, the first %v", i, len(all), all[0])
		}
	}
	for i, one := range g.Closed() {
		if one.Lasted != time.Duration(closedMax+6-i) {
			t.Fatalf("%d: %v", i, one.Lasted)
		}
	}
}
