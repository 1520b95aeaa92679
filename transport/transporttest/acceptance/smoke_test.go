package acceptance_test

import (
	"testing"
	"testing/synctest"

	"troupe/transport/transporttest/stock"
)

func TestTwoPlayersTalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		p := h.players(2, stock.Options{})
		h.send(p[0], stock.Message{OpCode: 10, TargetGroup: -1, Payload: []byte("hi"), Reliable: true})
		for _, c := range p {
			e := h.expect(c, stock.Op(10))
			if string(e.Payload) != "hi" || e.Sender != 1 {
				t.Errorf("got %v", e)
			}
		}
		for _, c := range p {
			if err := c.AwaitFast(h.context()); err != nil {
				t.Fatal(err)
			}
		}
		h.send(p[1], stock.Message{OpCode: 11, TargetPlayer: 1, Payload: []byte("fast")})
		if e := h.expect(p[0], stock.Op(11)); e.Channel != stock.ChannelUDP || e.Sender != 2 {
			t.Errorf("got %v", e)
		}
		for _, c := range p {
			if err := c.CheckReceived(); err != nil {
				t.Error(err)
			}
		}
	})
}
