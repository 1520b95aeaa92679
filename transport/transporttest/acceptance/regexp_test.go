package acceptance_test

import (
	"strings"
	"testing"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// A player's text that a regular expression of the script goes back and forth over costs an
// error in the log: neither the player's game, nor another one, nor the host.
func TestAPlayersTextInARegularExpressionEndsNothing(t *testing.T) {
	said := make(chan string, 10)
	// Looking ahead is what the engine hands to a library that backtracks.
	text := strings.Replace(says("well"), "onMessage: (m) =>", `onMessage: (m) => /^(?=.*z)(\w+\s?)+$/.test(m.getPayloadAsText()) ? 0 :`, 1)
	h := startHostWith(t, func(c *host.Config) {
		c.Fleets[0].Script = scriptFile(t, text)
	}, func(o *host.Options) { onSystem(o); failure(said)(o) })
	_, bystander := h.on("fleet-dev")
	attack := []byte("z" + strings.Repeat("a", 39) + "!") // 41 bytes
	var attackers []*stock.Client
	for range 2 {
		_, c := h.on("fleet-dev")
		for range 2 {
			h.send(c, stock.Message{OpCode: 11, TargetPlayer: stock.ServerID, Payload: attack, Reliable: true})
		}
		attackers = append(attackers, c)
	}
	for range 20 {
		h.hears(bystander, "well")
	}
	for _, c := range attackers {
		h.hears(c, "well") // once what is before that has failed
	}
	if n := h.host.Counters().ScriptsStuck.Load(); n != 0 || len(said) > 0 {
		t.Fatalf("%d calls are stuck, the host said %d times that it cannot go on", n, len(said))
	}
}
