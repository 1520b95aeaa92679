package acceptance_test

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// The fast channel over plain UDP: RT-20 to RT-29, RT-49, the core of RT-68, and what
// a flood may cost others. RT-24 is in spoof_test.go.

// fastPort returns the port that a client was told.
func (h *testHost) fastPort(c *stock.Client) int {
	h.Helper()
	log := c.Log()
	if len(log) == 0 || log[0].LoginResult == nil {
		h.Fatal("no LOGIN_RESPONSE")
	}
	return int(log[0].LoginResult.FastPort)
}

// The datagrams of the second player come from another IP than its WebSocket,
// so that it is never answered (D-107); to it that looks like a firewall.
// RT-23.
func TestWithoutAServerAckEverythingGoesByWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, func(p *fakeGame) {
			p.message = func(s script.Session, m *script.Message) {
				s.SendMessage(script.Outgoing{OpCode: m.OpCode + 1, Sender: -1}, m.Sender)
			}
		})
		ids := h.seats(h.newGame(8), 2)
		up := h.join(ids[0], stock.Options{})
		h.awaitFast(0, up)
		c := h.join(ids[1], stock.Options{UDPLocalAddr: "127.0.0.2:0"})
		h.until("retries", func() error {
			if n := c.Stats().UDPConnectSent; n < 2 {
				return fmt.Errorf("%d sent", n)
			}
			return nil
		})
		ws := func(e stock.Event) {
			t.Helper()
			if e.Channel != stock.ChannelWebSocket {
				t.Errorf("got %v", e)
			}
		}
		h.send(c, stock.Message{OpCode: 10, TargetPlayer: stock.ServerID}) // fast is what it wants
		ws(h.gotOne(c, stock.Packet{OpCode: 11, TargetPlayer: 2, Sender: -1, Reliable: true}))
		h.saw(games.only(), "onMessage", script.Message{OpCode: 10, Sender: 2, TargetPlayer: -1, Reliable: true})
		h.send(c, stock.Message{OpCode: 20, TargetPlayer: 1})
		h.gotOne(up, stock.Packet{OpCode: 20, TargetPlayer: 1, Sender: 2, Reliable: true})
		h.send(up, stock.Message{OpCode: 21, TargetPlayer: 2})
		ws(h.gotOne(c, stock.Packet{OpCode: 21, TargetPlayer: 2, Sender: 1, Reliable: true}))
		for _, p := range []*stock.Client{c, up} {
			if err := p.JoinGroup(4); err != nil {
				t.Fatal(err)
			}
			h.expect(p, stock.Op(stock.OpGroupMembershipUpdate))
		}
		h.send(c, stock.Message{OpCode: 30, TargetGroup: 4})
		h.send(up, stock.Message{OpCode: 31, TargetGroup: 4})
		for op, sender := range map[int32]int32{30: 2, 31: 1} {
			ws(h.gotOne(c, stock.Packet{OpCode: op, TargetGroup: 4, Sender: sender, Reliable: true}))
			h.gotOne(up, stock.Packet{OpCode: op, TargetGroup: 4, Sender: sender, Reliable: sender == 2})
		}
		h.expect(c, stock.Op(stock.OpGroupMembershipUpdate)) // that up joined
		if err := c.RequestMembership(4); err != nil {
			t.Fatal(err)
		}
		if e := h.expect(c, stock.Op(stock.OpGroupMembershipUpdate)); !slices.Equal(e.GroupMembershipUpdate.Players, []int32{2, 1}) || e.Sender != 2 {
			t.Errorf("got %v %+v", e, e.GroupMembershipUpdate)
		}
		if err := c.LeaveGroup(4); err != nil {
			t.Fatal(err)
		}
		h.fence(c, stock.ChannelWebSocket, c, up)
		if c.Status() != stock.StatusConnected || c.Stats().ReceivedUDP != 0 {
			t.Errorf("%v, %+v", c.Status(), c.Stats())
		}
		if h.host.Counters().Dropped.Get(counters.DropFastWrongAddress) == 0 {
			t.Error("its requests were not counted")
		}
		h.verified(c, up)
	})
}

// RT-29.
func TestSwitchedOffThePortStaysBoundAndSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Fast.Enabled = false }, nil)
		c := h.players(2, stock.Options{})
		h.until("requests", func() error {
			if n := h.host.Counters().Dropped.Get(counters.DropFastOff); n < 4 { // at least two each: the port is bound
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		conn, err := h.Net.DialContext(h.context(), "udp", fmt.Sprint("127.0.0.1:", h.fastPort(c[0])))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		before := h.host.Counters().Dropped.Get(counters.DropFastOff)
		for _, op := range []int32{stock.OpUDPConnect, stock.OpClientAck, 10, stock.OpJoinGroup} {
			// A connected socket reports a closed port as an error here or below.
			if _, err := conn.Write(stock.EncodeUnit(stock.Packet{OpCode: op, Sender: 1, TargetPlayer: 2})); err != nil {
				t.Fatal(err)
			}
		}
		h.until("datagrams", func() error {
			if n := h.host.Counters().Dropped.Get(counters.DropFastOff) - before; n < 4 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, err := conn.Read(make([]byte, 2048)); err == nil || !err.(net.Error).Timeout() {
			t.Errorf("%d bytes, %v", n, err)
		}
		h.send(c[0], stock.Message{OpCode: 10, TargetGroup: stock.AllPlayers})
		for _, p := range c {
			h.gotOne(p, stock.Packet{OpCode: 10, TargetGroup: stock.AllPlayers, Sender: 1, Reliable: true})
			if s := p.Stats(); s.ReceivedUDP != 0 || s.UDPSendErrors != 0 || p.Status() != stock.StatusConnected {
				t.Errorf("%v, %+v", p.Status(), s)
			}
		}
		if n := h.host.Counters().Writes.Get(counters.UDP); n != 0 {
			t.Errorf("%d datagrams written", n)
		}
		h.verified(c...)
	})
}

// Each channel gets a host of its own; what the players see must be the same.
// RT-49.
func TestGroupCommandsByUDPWorkAsByWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[stock.Channel][]string{}
		for _, via := range bothChannels {
			h, games := startPlays(t, nil, func(p *fakeGame) {
				p.joinGroup = func(g messages.GroupID, _ messages.PeerID) bool { return g != 6 }
				p.leaveGroup = func(g messages.GroupID, who messages.PeerID) bool { return g != 7 }
			})
			c := h.fastPlayers(2, stock.Options{})
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				h.fence(c[0], via, c...)
				h.fence(c[1], via, c...)
			}
			do(c[0].JoinGroup(1, via))
			do(c[1].JoinGroup(1, via))
			do(c[1].JoinGroup(1, via)) // twice
			do(c[0].JoinGroup(6, via)) // refused
			do(c[0].JoinGroup(7, via))
			do(c[0].LeaveGroup(7, via)) // refused
			do(c[0].RequestMembership(1, via))
			do(c[0].RequestMembership(99, via))
			do(c[0].RequestMembership(-1, via))
			do(c[0].JoinGroup(-1, via))   // ignored
			do(c[0].LeaveGroup(0, via))   // ignored
			do(c[1].LeaveGroup(1, via))   //
			do(c[1].LeaveGroup(1, via))   // not in
			do(c[1].LeaveGroup(555, via)) // unknown
			h.dropped(counters.DropBadGroup, 2)
			for _, p := range c {
				for _, e := range p.Log() {
					if u := e.GroupMembershipUpdate; u != nil {
						seen[via] = append(seen[via], fmt.Sprintf("to %d: group %d = %v, sender %d, target %d, by %v",
							p.PeerID(), u.Group, u.Players, e.Sender, e.TargetPlayer, e.Channel))
					}
				}
			}
			if games.only().overlapped() {
				t.Error("callbacks overlapped")
			}
			h.verified(c...)
		}
		byWS, byUDP := seen[stock.ChannelWebSocket], seen[stock.ChannelUDP]
		want := []string{
			"to 1: group 1 = [1], sender -1, target 1, by WebSocket",
			"to 1: group 1 = [1 2], sender -1, target 1, by WebSocket",
			"to 1: group 6 = [], sender -1, target 1, by WebSocket",
			"to 1: group 7 = [1], sender -1, target 1, by WebSocket",
			"to 1: group 7 = [1], sender -1, target 1, by WebSocket",
			"to 1: group 1 = [1 2], sender 1, target 1, by WebSocket",
			"to 1: group 99 = [], sender 1, target 1, by WebSocket",
			"to 1: group -1 = [1 2], sender 1, target 1, by WebSocket",
			"to 1: group 1 = [1], sender -1, target 1, by WebSocket",
			"to 2: group 1 = [1 2], sender -1, target 2, by WebSocket",
			"to 2: group 1 = [1 2], sender -1, target 2, by WebSocket",
			"to 2: group 1 = [1], sender -1, target 2, by WebSocket",
			"to 2: group 555 = [], sender -1, target 2, by WebSocket",
		}
		if !slices.Equal(byWS, want) || !slices.Equal(byUDP, want) {
			t.Errorf("by WebSocket\n%q\nby UDP\n%q\nwant\n%q", byWS, byUDP, want)
		}
	})
}

// One player floods the fast channel, at the limits that are configured by
// default. Nobody else loses a reliable message, in this game or in another.
// RL-112.
func TestFastFloodCostsOthersNothingReliable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flood, op, honest, count = 20_000, 20, 21, 300
		h := startHost(t, nil, nil)
		flooder, near, far := h.fastPlayers(3, stock.Options{EventsMax: 1 << 16}), []*stock.Client(nil), h.fastPlayers(2, stock.Options{})
		flooder, near = flooder[:1], flooder[1:]
		done := make(chan time.Duration)
		go func() {
			start := time.Now()
			for range flood {
				if flooder[0].Send(stock.Message{OpCode: op, TargetGroup: stock.AllPlayers, Payload: make([]byte, 200), Via: stock.ChannelUDP}) != nil {
					break
				}
			}
			done <- time.Since(start)
		}()
		begin := time.Now()
		for n := range count {
			for _, game := range [][]*stock.Client{near, far} {
				h.send(game[0], stock.Message{OpCode: honest, TargetPlayer: game[1].PeerID(), Payload: number(n), Reliable: true})
			}
		}
		for _, game := range [][]*stock.Client{near, far} {
			h.send(game[0], stock.Message{OpCode: honest + 1, TargetPlayer: game[1].PeerID(), Reliable: true})
			h.expect(game[1], stock.Op(honest+1))
			h.rises("recipient", numbers(game[1], honest), count, func(int) bool { return true })
		}
		honestTook, floodTook := time.Since(begin), <-done
		synctest.Wait() // the host has read what its socket has
		in := h.host.Counters().Dropped.Get(counters.DropFastRate)
		if in == 0 {
			t.Error("the flood was not limited")
		}
		through := 0
		for _, e := range near[1].Log() {
			if e.OpCode == op {
				through++
			}
		}
		limits := host.Defaults().Limits
		if most := limits.PlayerMessagesBurst + limits.PlayerMessagesPerSecond*(max(honestTook, floodTook).Seconds()+1); float64(through) > most {
			t.Errorf("%d of the flood got through, the limit allows %.0f", through, most)
		}
		t.Logf("flood: %d datagrams in %v, %d refused by rate, %d relayed; 2 x %d honest reliable in %v", flood, floodTook, in, through, count, honestTook)
		// Datagrams to clients may be lost in their sockets here: numbers may have gaps.
		h.checkReceived(slices.Concat(flooder, near, far)...)
	})
}
