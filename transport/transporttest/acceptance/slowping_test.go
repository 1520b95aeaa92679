package acceptance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/transporttest/stock"
)

// A stock client that answers every ping, on a path so slow that a ping takes longer than
// the time after which a client counts as silent, or as one that does not echo: it is not
// cut, and when its connection is lost it gets all that it has not received.
func TestAStockClientOnAVerySlowPathLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		ids := h.seats(h.newGame(2), 2)
		sender := h.join(ids[0], stock.Options{NoUDP: true})
		path := newSlowPath(h, 2500)
		c, err := stock.Dial(h.context(), path.ln.Addr().String(), ids[1], stock.Options{NoUDP: true, Network: h.Net})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Kill()
		if _, err := c.AwaitLogin(h.context()); err != nil {
			t.Fatal(err)
		}
		const total = 200 // 200 KB: 80 s
		for i := range total {
			h.send(sender, stock.Message{OpCode: int32(i + 1), TargetPlayer: 2, Payload: make([]byte, 1000), Reliable: true})
		}
		for range 30 { // it talks, too: nobody takes it for dead, but perhaps for mute
			time.Sleep(time.Second)
			if err := c.Send(stock.Message{OpCode: 9, TargetPlayer: 1, Reliable: true}); err != nil {
				t.Fatalf("cut: %v", err)
			}
		}
		path.cut()
		got := make(map[int32]bool)
		for _, e := range c.Log() {
			got[e.OpCode] = true
		}
		path.rate.Store(0)
		again := h.join(ids[1], stock.Options{NoUDP: true})
		h.expect(again, stock.Op(total))
		for _, e := range again.Log() {
			got[e.OpCode] = true
		}
		for i := range total {
			if !got[int32(i+1)] {
				t.Errorf("message %d is lost", i+1)
			}
		}
		if n := h.host.Counters().Lost.Load(); n != 0 {
			t.Errorf("%d are counted as lost", n)
		}
	})
}
