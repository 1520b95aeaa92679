package acceptance_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages/counters"
	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// loginLimits sets the limits on logins to their defaults. Most tests switch them off.
func loginLimits(c *host.Config) {
	c.Limits.LoginFailuresPerIPPerMinute = host.Defaults().Limits.LoginFailuresPerIPPerMinute
	c.Limits.LoginsPerPlayerSessionPerMinute = host.Defaults().Limits.LoginsPerPlayerSessionPerMinute
}

// guess makes failing logins with unknown ids, all at the same time.
func (h *testHost) guess(times int) {
	h.Helper()
	var guesses []*stock.Client
	for i := range times {
		guesses = append(guesses, h.dial(fmt.Sprintf("psess-00000000-0000-0000-0000-%012d", i), stock.Options{NoUDP: true}))
	}
	for _, g := range guesses {
		h.expectRefused(g)
	}
}

// TestGuessesKeepNobodyOut: failed logins of an address do not refuse valid logins from the same address: of
// a new player, of a stock player who comes back, and of a player with a reconnect token.
// RL-205.
func TestGuessesKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, loginLimits, nil)
		ids := h.seats(h.newGame(8), 4)
		other, lost := h.join(ids[0], stock.Options{NoUDP: true}), h.join(ids[1], stock.Options{NoUDP: true})
		own, err := client.Dial(h.context(), client.Options{DialContext: h.Net.Dial, Addr: h.host.Addrs().WS, PlayerSessionID: ids[2]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(own.Abort)
		h.guess(25)

		begun := time.Now()
		lost.Kill()
		lost = h.join(ids[1], stock.Options{NoUDP: true})
		own.NetworkChanged()
		h.untilCount("resumes", func() int64 { return h.logins(counters.LoginResumed) }, 2)
		fresh := h.join(ids[3], stock.Options{NoUDP: true})
		if took := time.Since(begun); took != 0 {
			t.Errorf("three logins that are right took %v", took)
		}
		h.talk(lost, other)
		h.talk(fresh, lost)
		h.checkReceived(other, lost, fresh)
	})
}

// TestGuessesCostTheGuesser: after too many failed logins of an address, their responses are delayed. Other
// addresses are not affected.
// RL-205.
func TestGuessesCostTheGuesser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Limits.LoginFailuresPerIPPerMinute = 3 }, nil)
		answer := func(from string) time.Duration {
			begun := time.Now()
			h.expectRefused(h.dial("psess-guess", stock.Options{NoUDP: true, LocalAddr: from}))
			return time.Since(begun)
		}
		for range 3 {
			answer("127.0.0.1")
		}
		if took := answer("127.0.0.1"); took != 1050*time.Millisecond {
			t.Errorf("the fourth guess was answered after %v", took)
		}
		if took := answer("127.0.0.77"); took != 50*time.Millisecond {
			t.Errorf("a guess of another address was answered after %v", took)
		}
	})
}

// TestIDsThatExistAreNoFailures: logins with existing ids that the game refuses, or that have ended, do not
// count as failed guesses, even if they are repeated.
func TestIDsThatExistAreNoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{connect: func(script.Session, *script.ConnectMessage) bool { return false }}
		h := startHost(t, func(c *host.Config) { c.Limits.LoginFailuresPerIPPerMinute = 10 }, g.make)
		ids := h.seats(h.newGame(8), 3)
		for range 5 {
			for _, id := range ids {
				h.expectRefused(h.dial(id, stock.Options{NoUDP: true}))
			}
		}
		begun := time.Now()
		h.guess(1)
		if took := time.Since(begun); took != 50*time.Millisecond {
			t.Errorf("a first guess was answered after %v", took)
		}
	})
}

// TestPlayersOfBeforeARestartKeepNobodyOut: after a restart, players whose game sessions have ended retry
// their logins. They do not keep out new players at the same address.
func TestPlayersOfBeforeARestartKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "store.db")
		kept := func(c *host.Config) {
			loginLimits(c)
			c.Store = host.Store{Path: file}
		}
		first := startHost(t, kept, nil)
		old := first.seats(first.newGame(8), 3)
		for _, id := range old {
			first.join(id, stock.Options{NoUDP: true})
		}
		first.host.Close()

		h := startHost(t, kept, nil)
		for range 5 {
			for _, id := range old {
				h.expectRefused(h.dial(id, stock.Options{NoUDP: true}))
			}
		}
		h.guess(12)
		begun := time.Now()
		ids := h.seats(h.newGame(8), 2)
		p := []*stock.Client{h.join(ids[0], stock.Options{NoUDP: true}), h.join(ids[1], stock.Options{NoUDP: true})}
		if took := time.Since(begun); took != 0 {
			t.Errorf("two new seats took %v", took)
		}
		h.talk(p[0], p[1])
	})
}
