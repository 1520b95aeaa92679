package acceptance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport/transporttest/nat"
	"troupe/transport/transporttest/stock"
)

// How changes of a NAT affect the fast channel of stock clients, who never repeat the handshake.

// natted has a stock client behind a NAT and a peer without one.
type natted struct {
	*testHost
	nat      *nat.NAT
	in, away *stock.Client
	next     int
}

func behindNAT(t *testing.T, inner string) *natted {
	t.Helper()
	h := startHost(t, nil, nil)
	n := &natted{testHost: h, nat: nat.New(t, h.Net, inner)}
	a, o := n.host.Addrs(), stock.Options{Network: h.Net}
	n.nat.UDP(a.Fast)
	through := n.nat.TCP(a.WS)
	ids := n.seats(n.newGame(4), 2)
	for i, addr := range []string{through, a.WS} {
		c, err := stock.Dial(n.context(), addr, ids[i], o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Kill)
		if _, err := c.AwaitLogin(n.context()); err != nil {
			t.Fatal(err)
		}
		if err := c.AwaitFast(n.context()); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			n.in = c
		} else {
			n.away = c
		}
	}
	n.back("before", stock.ChannelUDP)
	return n
}

// back sends messages at 20 Hz in both directions, and logs how long it takes until they arrive in both.
// Messages to the client behind the NAT must arrive on the channel via.
func (n *natted) back(when string, via stock.Channel) {
	n.Helper()
	up, down := n.plays(func(up, down bool) bool { return up && down }, via)
	n.Logf("%s: up after %v, down after %v", when, up.Round(time.Millisecond), down.Round(time.Millisecond))
	if up == 0 || down == 0 {
		n.Fatalf("%s: not back within %v: up %v, down %v", when, patience, up, down)
	}
}

// plays sends messages until enough returns true. It returns how long it took until the first message arrived
// in each direction, or 0 if none did.
func (n *natted) plays(enough func(up, down bool) bool, via stock.Channel) (up, down time.Duration) {
	n.Helper()
	first := n.next + 1
	for began := time.Now(); time.Since(began) < patience && !enough(up != 0, down != 0); time.Sleep(50 * time.Millisecond) {
		n.next++
		n.send(n.in, stock.Message{OpCode: 10, TargetPlayer: n.away.PeerID(), Payload: number(n.next)})
		n.send(n.away, stock.Message{OpCode: 10, TargetPlayer: n.in.PeerID(), Payload: number(n.next)})
		if up == 0 && (n.heard(n.away, first, stock.ChannelWebSocket) || n.heard(n.away, first, stock.ChannelUDP)) {
			up = time.Since(began)
		}
		if down == 0 && n.heard(n.in, first, via) {
			down = time.Since(began)
		}
	}
	return up, down
}

// heard reports whether a client has received one of the messages from number first on, on the given channel.
func (n *natted) heard(c *stock.Client, first int, via stock.Channel) bool {
	for _, e := range c.Log() {
		if e.Err == nil && !e.Stale && e.OpCode == 10 && numberOf(e) >= first && e.Channel == via {
			return true
		}
	}
	return false
}

// RL-107.
func TestNATChangesThePort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := behindNAT(t, "127.0.0.2")
		n.nat.Rebind()
		n.back("another port", stock.ChannelWebSocket)
		if moves := n.host.Counters().Moves.Get(counters.UDP); moves != 1 {
			t.Errorf("%d moves", moves)
		}
		n.checkReceived(n.in, n.away)
	})
}

// RL-107.
func TestNATChangesTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := behindNAT(t, "127.0.0.3")
		n.nat.MoveTo("127.0.0.4")
		_, down := n.plays(func(_, down bool) bool { return down }, stock.ChannelWebSocket)
		if down == 0 {
			t.Fatalf("not served by WebSocket within %v", patience)
		}
		t.Logf("down after %v", down)
		n.nat.MoveTo("127.0.0.1") // back to the first address: its datagrams are accepted again
		n.back("the old address", stock.ChannelWebSocket)
	})
}

// RL-107.
func TestNATChangesWhatDTLSSees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		behind := nat.New(t, h.Net, "127.0.0.5")
		o := h.secured()
		o.DTLS = nil
		c := h.joinSecure(h.seats(h.newGame(4), 1)[0], o)
		box := h.associateAt(behind.UDP(h.host.Addrs().DTLS)) // it never repeats the handshake
		if r := h.verify(box, c.PeerID(), h.loginResult(c).ConnectToken); !r.Success {
			t.Fatalf("%+v", r)
		}
		for i, change := range []func(){func() {}, behind.Rebind, func() { behind.MoveTo("127.0.0.6") }} {
			time.Sleep(200 * time.Millisecond) // an association that was just heard does not move
			change()
			box.a.Write(wire.AppendMessage(nil, &wire.Header{OpCode: 12, Sequence: int32(i + 1), Sender: c.PeerID(), TargetPlayer: c.PeerID()}))
			select {
			case <-box.got:
			case <-h.context().Done():
				t.Fatalf("change %d: nothing comes back", i)
			}
			if moves := h.host.Counters().Moves.Get(counters.DTLS); moves != int64(i) {
				t.Errorf("change %d: %d moves", i, moves)
			}
		}
		h.checkReceived(c)
	})
}

// TestATokenIsGoodOnceMoreForWhoHearsNothing: a player may report by WebSocket that its fast channel is lost.
// It may then bind one more association with the same token, and the previous association is ended. Nobody
// else can make that report.
func TestATokenIsGoodOnceMoreForWhoHearsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		seats := h.seats(h.newGame(4), 2)
		o := h.secured()
		o.DTLS = nil
		c, other := h.joinSecure(seats[0], o), h.joinSecure(seats[1], o)
		token := h.loginResult(c).ConnectToken
		bind := func(good bool) *dtlsInbox {
			t.Helper()
			box := h.associate()
			if r := h.verify(box, c.PeerID(), token); r.Success != good {
				t.Fatalf("answered %+v, want %v", r, good)
			}
			return box
		}
		lost := func(c *stock.Client) {
			t.Helper()
			if err := c.SendPacket(stock.Packet{OpCode: stock.OpUDPConnect, Sender: c.PeerID(), UDPConnect: &stock.Empty{}}, stock.ChannelWebSocket); err != nil {
				t.Fatal(err)
			}
			// when this returns, the report has been handled
			h.send(c, stock.Message{OpCode: 9, TargetPlayer: c.PeerID(), Reliable: true})
			h.expect(c, isOp(9, stock.ChannelWebSocket))
		}
		first := bind(true)
		bind(false)
		lost(other)
		bind(false)
		lost(c)
		select {
		case <-first.end:
		case <-h.context().Done():
			t.Error("the association that is lost lives on")
		}
		h.untilCount("bound", func() int64 { return h.host.Counters().Connections.Get(counters.DTLS) }, 0)
		bind(true)
		bind(false)
		h.untilCount("bound", func() int64 { return h.host.Counters().Connections.Get(counters.DTLS) }, 1)
		h.checkReceived(c, other)
	})
}

// TestWhoHearsNothingIsServedByWebSocket: over plain UDP, a player who reports a lost fast channel gets its
// messages by WebSocket until a datagram of the player arrives again.
func TestWhoHearsNothingIsServedByWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		if err := c[0].SendPacket(stock.Packet{OpCode: stock.OpUDPConnect, Sender: c[0].PeerID(), UDPConnect: &stock.Empty{}}, stock.ChannelWebSocket); err != nil {
			t.Fatal(err)
		}
		// when this returns, the report has been handled
		h.send(c[0], stock.Message{OpCode: 9, TargetPlayer: c[0].PeerID(), Reliable: true})
		h.expect(c[0], stock.Op(9))
		h.send(c[1], stock.Message{OpCode: 10, TargetPlayer: c[0].PeerID()})
		if e := h.expect(c[0], stock.Op(10)); e.Channel != stock.ChannelWebSocket {
			t.Errorf("got %v", e)
		}
		h.send(c[0], stock.Message{OpCode: 11, TargetPlayer: c[1].PeerID()})
		h.expect(c[1], stock.Op(11))
		h.send(c[1], stock.Message{OpCode: 12, TargetPlayer: c[0].PeerID()})
		if e := h.expect(c[0], stock.Op(12)); e.Channel != stock.ChannelUDP {
			t.Errorf("got %v", e)
		}
		if n := h.host.Counters().Fallbacks.Get(counters.UDP); n != 1 {
			t.Errorf("%d counted", n)
		}
		h.checkReceived(c...)
	})
}
