package acceptance_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

var membership = stock.Op(stock.OpGroupMembershipUpdate)

// expectMembers takes the client's next membership update and compares it.
func (h *testHost) expectMembers(c *stock.Client, sender, group int32, players ...int32) stock.Event {
	h.Helper()
	e := h.expect(c, membership)
	u := e.GroupMembershipUpdate
	switch {
	case u == nil:
		h.Errorf("peer %d: an update without its inner message: %v", c.PeerID(), e)
	case u.Group != group || !slices.Equal(u.Players, players) || e.Sender != sender || e.TargetPlayer != c.PeerID() || e.TargetGroup != 0:
		h.Errorf("peer %d: update of group %d %v from %d to %d, want group %d %v from %d",
			c.PeerID(), u.Group, u.Players, e.Sender, e.TargetPlayer, group, players, sender)
	}
	return e
}

// joinGroup has a player join and all members, the player last, see it.
func (h *testHost) joinGroup(c *stock.Client, group int32, before ...*stock.Client) {
	h.Helper()
	if err := c.JoinGroup(group, stock.ChannelWebSocket); err != nil {
		h.Fatal(err)
	}
	var ids []int32
	for _, m := range append(before, c) {
		ids = append(ids, m.PeerID())
	}
	for _, m := range append(before, c) {
		h.expectMembers(m, -1, group, ids...)
	}
}

// noUpdate checks that no membership update is waiting for the clients once
// they have seen a message that was sent after all that could cause one.
func (h *testHost) noUpdate(clients ...*stock.Client) {
	h.Helper()
	for _, c := range clients {
		h.talk(c, c)
		for _, e := range c.Pending() {
			if membership(e) {
				h.Errorf("peer %d got an update nobody expected: %v", c.PeerID(), e)
			}
		}
	}
}

// RT-48.
func TestAnybodyMayRequestTheMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := startHost(t, nil, g.make)
		p := h.players(3, stock.Options{})
		h.joinGroup(p[0], 7)
		h.joinGroup(p[1], 7, p[0])
		for _, want := range []struct {
			by      int
			group   int32
			players []int32
		}{
			{2, 7, []int32{1, 2}}, // not a member
			{0, 7, []int32{1, 2}},
			{2, 8, nil}, // unknown: empty, with the inner message
			{2, -1, []int32{1, 2, 3}},
			{1, 1<<31 - 1, nil},
		} {
			c := p[want.by]
			if err := c.RequestMembership(want.group, stock.ChannelWebSocket); err != nil {
				t.Fatal(err)
			}
			h.expectMembers(c, c.PeerID(), want.group, want.players...) // from the requester (D-110)
		}
		h.noUpdate(p...)
		if n := g.count("onPlayerJoinGroup"); n != 2 {
			t.Errorf("the game was asked %d times, want 2: a request asks nobody", n)
		}
		h.checkReceived(p...)
	})
}

// RT-50.
func TestPlayersArePacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		game := h.newGame(8)
		p := []*stock.Client{h.join(h.seats(game, 1)[0], stock.Options{}), h.join(h.seats(game, 1)[0], stock.Options{})}
		h.joinGroup(p[0], 1)
		h.joinGroup(p[1], 1, p[0])
		// This one reads no unpacked lists, and has no call for groups.
		ts := h.join(h.seats(game, 1)[0], stock.Options{Flavor: stock.TypeScript})
		h.sendPacket(ts, stock.Packet{OpCode: stock.OpJoinGroup, TargetPlayer: -1, Sender: 3, Reliable: true, JoinGroup: &stock.GroupRef{Group: 1}})
		for _, c := range append(p, ts) {
			e := h.expectMembers(c, -1, 1, 1, 2, 3)
			if e.GroupMembershipUpdate.Unpacked {
				t.Errorf("unpacked: % x", e.Raw)
			}
		}
		h.checkReceived(append(p, ts)...)
	})
}

// TestDisconnectLeavesGroups holds for a clean leave in every mode, and
// in the original's for every loss.
// RT-51.
func TestDisconnectLeavesGroups(t *testing.T) {
	for name, leave := range map[string]func(*testHost, *stock.Client){
		"close": func(_ *testHost, c *stock.Client) { c.Close() },
		"kill":  func(_ *testHost, c *stock.Client) { c.Kill() },
	} {
		bubble(t, name, func(t *testing.T) {
			h := startHost(t, strict, nil)
			p := h.players(3, stock.Options{})
			for i := range p {
				h.joinGroup(p[i], 1, p[:i]...)
			}
			h.joinGroup(p[0], 2)
			h.joinGroup(p[2], 2, p[0])
			leave(h, p[0])
			h.expectMembers(p[1], -1, 1, 2, 3)
			for range 2 { // the order of a player's groups is not told
				e := h.expect(p[2], membership).GroupMembershipUpdate
				if want := map[int32][]int32{1: {2, 3}, 2: {3}}[e.Group]; !slices.Equal(e.Players, want) {
					t.Errorf("group %d: %v, want %v", e.Group, e.Players, want)
				}
			}
			h.send(p[1], stock.Message{OpCode: 23, TargetGroup: 1, Reliable: true})
			h.expect(p[2], stock.Op(23))
			h.noUpdate(p[1:]...) // none for group -1 (D-111)
			h.checkReceived(p...)
		})
	}
}

// TestGroupOperationRate: operations over the rate are dropped, nothing else is.
func TestGroupOperationRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Limits.GroupOperationsPerSecond = 4 }, nil)
		p := h.players(2, stock.Options{NoUDP: true})
		const sent = 20
		begun := time.Now()
		for range sent {
			if err := p[0].RequestMembership(-1); err != nil {
				t.Fatal(err)
			}
		}
		h.talk(p[0], p[1]) // behind them
		dropped := h.host.Counters().Dropped.Get(counters.DropGroupRate)
		if most := 4 + int64(4*time.Since(begun).Seconds()) + 1; dropped < sent-most || dropped >= sent { // a burst of 4 and what came in while sending
			t.Errorf("%d of %d dropped", dropped, sent)
		}
		for range sent - dropped {
			h.expectMembers(p[0], 1, -1, 1, 2)
		}
		h.noUpdate(p...)
		h.joinGroup(p[1], 1) // each player has a rate of its own
		h.until("the rate allows another operation", func() error {
			if err := p[0].RequestMembership(1); err != nil {
				return err
			}
			if p[0].ExpectSilence(100*time.Millisecond, membership) == nil {
				return errors.New("no answer")
			}
			return nil
		})
		h.checkReceived(p...)
	})
}
