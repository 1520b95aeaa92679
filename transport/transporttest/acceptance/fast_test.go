package acceptance_test

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// fastPort returns the fast port in the client's LOGIN_RESPONSE.
func (h *testHost) fastPort(c *stock.Client) int {
	h.Helper()
	log := c.Log()
	if len(log) == 0 || log[0].LoginResult == nil {
		h.Fatal("no LOGIN_RESPONSE")
	}
	return int(log[0].LoginResult.FastPort)
}

// RT-29.
func TestSwitchedOffThePortStaysBoundAndSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Fast.Enabled = false }, nil)
		c := h.players(2, stock.Options{})
		h.until("requests", func() error {
			if n := h.host.Counters().Dropped.Get(counters.DropFastOff); n < 4 { // at least two each, so the port is bound
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
			// If the port were closed, a connected socket would report an error here or below.
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

// Each channel is tested on its own host. The players must observe the same results.
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
			do(c[1].JoinGroup(1, via)) // the second time
			do(c[0].JoinGroup(6, via)) // refused
			do(c[0].JoinGroup(7, via))
			do(c[0].LeaveGroup(7, via)) // refused
			do(c[0].RequestMembership(1, via))
			do(c[0].RequestMembership(99, via))
			do(c[0].RequestMembership(-1, via))
			do(c[0].JoinGroup(-1, via))   // ignored
			do(c[0].LeaveGroup(0, via))   // ignored
			do(c[1].LeaveGroup(1, via))   //
			do(c[1].LeaveGroup(1, via))   // not a member
			do(c[1].LeaveGroup(555, via)) // unknown group
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
