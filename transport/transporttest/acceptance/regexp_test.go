package acceptance_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// A player's text that a regular expression of the script goes back and forth over costs an
// error in the log: neither the player's game, nor another one, nor the host.
func TestAPlayersTextInARegularExpressionEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := make(chan string, 10)
		// Looking ahead is what the engine hands to a library that backtracks.
		text := strings.Replace(says("well"), "onMessage: (m) =>", `onMessage: (m) => /^(?=.*z)(\w+\s?)+$/.test(m.getPayloadAsText()) ? 0 :`, 1)
		h := startHostWith(t, func(c *host.Config) {
			c.Fleets[0].Script = scriptFile(t, text)
		}, failure(said))
		_, bystander := h.on("fleet-dev")
		trip := func() time.Duration {
			begun := time.Now()
			h.hears(bystander, "well")
			return time.Since(begun)
		}
		p99 := func(trips []time.Duration) time.Duration {
			slices.Sort(trips)
			return trips[len(trips)*99/100]
		}
		var calm, busy []time.Duration
		for range 50 {
			calm = append(calm, trip())
		}
		attack := []byte("z" + strings.Repeat("a", 39) + "!") // 41 bytes
		var attackers []*stock.Client
		for range 2 {
			_, c := h.on("fleet-dev")
			for range 2 {
				h.send(c, stock.Message{OpCode: 11, TargetPlayer: stock.ServerID, Payload: attack, Reliable: true})
			}
			attackers = append(attackers, c)
		}
		for begun := time.Now(); time.Since(begun) < time.Second; time.Sleep(5 * time.Millisecond) {
			busy = append(busy, trip())
		}
		for _, c := range attackers {
			h.hears(c, "well") // once what is before that has failed
		}
		t.Logf("p99 %v before, %v meanwhile", p99(calm), p99(busy))
		if was, is := p99(calm), p99(busy); is > 10*was+500*time.Millisecond {
			t.Errorf("p99 of the bystander %v, %v before", is, was)
		}
		if n := h.host.Counters().ScriptsStuck.Load(); n != 0 || len(said) > 0 {
			t.Fatalf("%d calls are stuck, the host said %d times that it cannot go on", n, len(said))
		}
	})
}
