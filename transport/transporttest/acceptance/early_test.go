package acceptance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// What else comes before the login has no effect, and comes at the rate of a player.
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
		if took := time.Since(begun); !exact(took, 500*time.Millisecond) { // ten at once, 50 at 100 a second
			t.Errorf("60 packets took %v", took)
		}
	})
}

// Pings cost the host as much as messages do, and are paced as well. Those of a
// client that means well never notice.
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
			if took := time.Since(begun); !exact(took, 1200*time.Millisecond) { // 40 at once, 360 at 300 a second; the last may have to wait for its turn
				t.Errorf("401 pings took %v", took)
			}
		}
	})
}
