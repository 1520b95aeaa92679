package acceptance_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

var membership = stock.Op(stock.OpGroupMembershipUpdate)

// expectMembers takes the client's next membership update and compares it with the given members.
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

// joinGroup makes a player join, and checks that all members receive the update, the new one last.
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

// TestGroupOperationRate: group operations above the rate are dropped, and nothing else is.
func TestGroupOperationRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Limits.GroupOperationsPerSecond = 4 }, nil)
		p := h.players(2, stock.Options{NoUDP: true})
		request := func(answered bool) {
			t.Helper()
			if err := p[0].RequestMembership(-1); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if answered {
				h.expectMembers(p[0], 1, -1, 1, 2)
			} else if err := p[0].ExpectSilence(0, membership); err != nil {
				t.Error(err)
			}
		}
		for i := range 20 {
			request(i < 4)
		}
		h.dropped(counters.DropGroupRate, 16)
		h.joinGroup(p[1], 1) // each player has its own rate limit
		time.Sleep(time.Second/4 + time.Millisecond)
		request(true)
		request(false)
		h.checkReceived(p...)
	})
}
