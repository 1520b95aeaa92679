package acceptance_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// The close code tells a stock client whether the same login will succeed later (4011) or never (any other
// code).
func TestAStockClientSeesWhetherToComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := startHost(t, func(c *host.Config) { c.Reconnect.Takeover = "refuse" }, func() script.Handler { return &slowGate{asked: &asked} })
		id := h.seats(h.newGame(2), 1)[0]
		first := h.dial(id, stock.Options{NoUDP: true})
		h.untilCount("the game is asked", asked.Load, 1)
		second := h.dial(id, stock.Options{NoUDP: true}) // the first login is still being decided
		h.awaitClose(second, messages.CloseTryLater)
		if _, err := first.AwaitLogin(h.context()); err != nil {
			t.Fatal(err)
		}
		first.Kill()
		h.until("the retry is let in", func() error {
			_, err := h.dial(id, stock.Options{NoUDP: true}).AwaitLogin(h.context())
			return err
		})
		unknown := h.dial("psess-00000000-0000-0000-0000-000000000000", stock.Options{NoUDP: true})
		h.awaitClose(unknown, messages.CloseNormal)
	})
}

// slowGate accepts players only after a delay.
type slowGate struct {
	script.Base
	session script.Session
	asked   *atomic.Int64
}

func (g *slowGate) Init(s script.Session) error { g.session = s; return nil }

func (g *slowGate) OnPlayerConnect(*script.ConnectMessage) script.Decision {
	g.asked.Add(1)
	p := new(script.Pending)
	g.session.After(700*time.Millisecond, func() { p.Decide(true) })
	return script.Later(p)
}
