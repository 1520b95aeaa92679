package acceptance_test

import (
	"crypto/tls"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// TestResumeOnAnyTransport: D-1, from each transport to each other one. The player keeps its peer id and its
// group, and gets the messages it missed.
func TestResumeOnAnyTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			secure(t)(c)
			c.Limits.ResumesPerPlayerSessionPerMinute = 0
		}, nil)
		seats := h.seats(h.newGame(3), 2)
		other := h.join(seats[1], stock.Options{NoUDP: true})
		a := h.host.Addrs()
		c, err := client.Dial(h.context(), client.Options{DialContext: h.Net.Dial,
			Addr: a.WS, WSSAddr: a.WSS, KCPAddr: a.KCP, PlayerSessionID: seats[0], EventsMax: 1 << 14,
			TLS: &tls.Config{RootCAs: h.roots(), ServerName: "localhost"},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Abort)
		p := &sdkPlayer{h: h, Client: c}
		h.joinGroup(other, 7)
		if err := p.join(7); err != nil {
			t.Fatal(err)
		}
		h.expectMembers(other, -1, 7, 1, 2)
		said := 0
		reach := func() {
			t.Helper()
			said++
			h.send(other, stock.Message{OpCode: 90, TargetGroup: 7, Payload: fmt.Append(nil, said), Reliable: true})
		}
		heard := 0
		hears := func(what string) {
			t.Helper()
			for heard < said {
				heard++
				if _, text, _ := p.hear(90); text != fmt.Sprint(heard) {
					t.Fatalf("%s: heard %s, %d was due", what, text, heard)
				}
			}
		}
		on := client.WS
		for _, to := range []client.Transport{ // contains every ordered pair of transports as neighbours once
			client.WS, client.WSS, client.WSS, client.KCP, client.KCP, client.WS, client.KCP, client.WSS, client.WS,
		} {
			what := fmt.Sprintf("%s to %s", on, to)
			pair := counters.PairOf(counters.Channel(on), counters.Channel(to))
			before := h.host.Counters().Resumes.Get(pair)
			reach()
			if err := c.Move(h.context(), to); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			reach()
			hears(what)
			if c.PeerID() != 2 || c.Transport() != to {
				t.Errorf("%s: peer %d on %s", what, c.PeerID(), c.Transport())
			}
			h.untilCount("resumes "+what, func() int64 { return h.host.Counters().Resumes.Get(pair) }, before+1)
			on = to
		}
		h.talk(other, other)
	})
}

// TestResumeOfAnotherProcess: a token and a player session of a host that has ended are refused immediately
// and permanently (reliability.md 2.9).
// RL-114.
func TestResumeOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := startHost(t, nil, nil)
		id := first.seats(first.newGame(2), 1)[0]
		c, err := client.Dial(first.context(), client.Options{DialContext: first.Net.Dial, Addr: first.host.Addrs().WS, PlayerSessionID: id})
		if err != nil {
			t.Fatal(err)
		}
		c.Abort()
		first.host.Close()

		second := startHost(t, nil, nil)
		second.newGame(2)
		raw := second.dial(id, stock.Options{NoLogin: true})
		login := wire.Login{PlayerSessionID: id, ClientVersion: 2, Caps: wire.CapNumbers, ReconnectToken: "A-token-of-the-host-that-is-gone-43-letters", LastReceived: 7}
		begun := time.Now()
		second.sendRaw(raw, wire.AppendLogin(nil, &login, nil))
		second.expectRefused(raw)
		if took := time.Since(begun); took != 50*time.Millisecond { // refusals are sent at multiples of this
			t.Errorf("refused after %v", took)
		}
		if _, err := client.Dial(second.context(), client.Options{DialContext: second.Net.Dial, Addr: second.host.Addrs().WS, PlayerSessionID: id}); err == nil {
			t.Error("let in")
		}
		if n := second.logins(counters.LoginRefused); n != 2 {
			t.Errorf("%d refused", n)
		}
	})
}

// TestStormIsTold: above limits.loginsPerSecond, a client with the extension is told when to retry, and does
// so. A stock client is refused.
func TestStormIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Limits.LoginsPerSecond, c.Limits.LoginsWaiting = 4, 1 }, nil)
		ids := h.seats(h.newGame(12), 12)
		done := make(chan error)
		for _, id := range ids {
			go func() {
				c, err := client.Dial(h.context(), client.Options{DialContext: h.Net.Dial, Addr: h.host.Addrs().WS, PlayerSessionID: id})
				if err == nil {
					c.Close()
				}
				done <- err
			}()
		}
		for range ids {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := h.host.Counters().CloseReasons[messages.CloseTryLater].Load(); n == 0 {
			t.Error("nobody was told to try later")
		}
	})
}

// TestRoamingIsAnAbbreviatedHandshake: over KCP, a player whose network has changed is back without a new key
// exchange.
func TestRoamingIsAnAbbreviatedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		c := h.sdk(client.KCP, h.seats(h.newGame(2), 1)[0])
		count := h.host.Counters()
		for i := range int64(3) {
			c.NetworkChanged()
			h.untilCount("resumes", func() int64 { return count.Resumes.Get(counters.PairOf(counters.KCP, counters.KCP)) }, i+1)
			h.untilCount("abbreviated handshakes", func() int64 { return count.Handshakes.Get(counters.HandshakeResumed) }, i+1)
			h.until("back", func() error {
				if !c.Attached() {
					return fmt.Errorf("not attached")
				}
				return nil
			})
		}
		if n := count.Handshakes.Get(counters.HandshakeFull); n != 1 {
			t.Errorf("%d key exchanges", n)
		}
		if c.PeerID() != 1 {
			t.Errorf("peer %d", c.PeerID())
		}
	})
}
