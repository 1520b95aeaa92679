package acceptance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// Packets before the login have no effect, and they are read at the rate of a player's messages.
func TestPacketsBeforeTheLoginArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			c.Limits.LoginTimeout, c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerMessagesBurst = patience, 100, 10
		}, nil)
		c := h.dial("", stock.Options{NoLogin: true})
		begun := time.Now()
		for range 60 {
			h.send(c, stock.Message{OpCode: 7, TargetPlayer: 1, Reliable: true})
		}
		h.dropped(counters.DropBeforeLogin, 60)
		if took := time.Since(begun); !exact(took, 500*time.Millisecond) { // 10 at once, then 50 at 100 a second
			t.Errorf("60 packets took %v", took)
		}
	})
}

// Pings cost the host as much as messages, so they have a rate limit, too. It does not affect a normal
// client.
func TestPingsArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			c.Limits.LoginTimeout, c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerMessagesBurst = patience, 100, 40
		}, nil)
		for _, c := range []*stock.Client{h.dial("", stock.Options{NoLogin: true}), h.players(1, stock.Options{})[0]} {
			begun := time.Now()
			for range 400 {
				if err := c.SendFrames(stock.Frame{Final: true, OpCode: stock.FramePing, Masked: true}.Encode()); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Ping(h.context(), "last"); err != nil {
				t.Fatal(err)
			}
			// 40 at once, then 360 at 300 a second; the last ones may have to wait for their turn
			if took := time.Since(begun); !exact(took, 1200*time.Millisecond) {
				t.Errorf("401 pings took %v", took)
			}
		}
	})
}
