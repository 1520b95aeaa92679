package acceptance_test

import (
	"errors"
	"fmt"
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

// RT-45.
func TestJoinTellsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		p := h.players(3, stock.Options{})
		h.joinGroup(p[0], 1)
		h.joinGroup(p[1], 1, p[0])
		h.noUpdate(p...)
		if err := p[1].JoinGroup(1, stock.ChannelWebSocket); err != nil { // twice: answered alone
			t.Fatal(err)
		}
		h.expectMembers(p[1], -1, 1, 1, 2)
		h.noUpdate(p...)
		h.send(p[0], stock.Message{OpCode: 20, TargetGroup: 1, Reliable: true})
		for _, c := range p[:2] { // the sender included
			if e := h.expect(c, stock.Op(20)); e.TargetGroup != 1 || e.Sender != 1 || e.TargetPlayer != 0 {
				t.Errorf("got %v", e)
			}
		}
		if got := p[0].Groups(); !slices.Equal(got, []int32{1}) {
			t.Errorf("the client believes to be in %v", got)
		}
		h.checkReceived(p...)
	})
}

// RT-46.
func TestARefusedJoinIsToldToTheRequesterAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{joinGroup: func(group messages.GroupID, peer messages.PeerID) bool {
			if group == 3 {
				panic("thrown by the script")
			}
			return group != 2 && peer != 2
		}}
		h := startHost(t, nil, g.make)
		p := h.players(2, stock.Options{})
		h.joinGroup(p[0], 1)
		for i, want := range []struct {
			group   int32
			players []int32
		}{{1, []int32{1}}, {2, nil}, {3, nil}} { // without the requester, also if nobody is in it
			if err := p[1].JoinGroup(want.group, stock.ChannelWebSocket); err != nil {
				t.Fatal(err)
			}
			h.expectMembers(p[1], -1, want.group, want.players...)
			if got := p[1].Groups(); len(got) != 0 {
				t.Errorf("refusal %d: the client believes to be in %v", i, got)
			}
		}
		h.noUpdate(p...) // the requester only
		h.send(p[1], stock.Message{OpCode: 21, TargetGroup: 1, Reliable: true})
		h.dropped(counters.DropNotMember, 1)
		h.untilCount("handler errors", h.host.Counters().HandlerErrors.Load, 1)
		if n := g.count("onPlayerJoinGroup"); n != 4 {
			t.Errorf("the game was asked %d times", n)
		}
		h.checkReceived(p...)
	})
}

// RT-47.
func TestALeaveIsToldToThoseWhoRemain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{leaveGroup: func(group messages.GroupID, _ messages.PeerID) bool { return group != 2 }}
		h := startHost(t, nil, g.make)
		p := h.players(3, stock.Options{})
		for i := range p {
			h.joinGroup(p[i], 1, p[:i]...)
		}
		h.joinGroup(p[0], 2)
		if err := p[1].LeaveGroup(1, stock.ChannelWebSocket); err != nil {
			t.Fatal(err)
		}
		h.expectMembers(p[0], -1, 1, 1, 3)
		h.expectMembers(p[2], -1, 1, 1, 3)
		h.send(p[0], stock.Message{OpCode: 22, TargetGroup: 1, Reliable: true})
		h.expect(p[0], stock.Op(22))
		h.expect(p[2], stock.Op(22))
		h.talk(p[0], p[1]) // behind it
		for _, e := range p[1].Log() {
			if e.OpCode == 22 {
				t.Errorf("the leaver got %v", e)
			}
		}
		h.send(p[1], stock.Message{OpCode: 22, TargetGroup: 1, Reliable: true})
		h.dropped(counters.DropNotMember, 1)
		// Leaving twice and a refused leave are answered to the requester alone.
		if err := p[1].LeaveGroup(1, stock.ChannelWebSocket); err != nil {
			t.Fatal(err)
		}
		h.expectMembers(p[1], -1, 1, 1, 3)
		if err := p[0].LeaveGroup(2, stock.ChannelWebSocket); err != nil {
			t.Fatal(err)
		}
		h.expectMembers(p[0], -1, 2, 1)
		if got := p[0].Groups(); !slices.Equal(got, []int32{1, 2}) {
			t.Errorf("after the refusal the client believes to be in %v", got)
		}
		h.noUpdate(p...)
		if n := g.count("onPlayerLeaveGroup"); n != 3 {
			t.Errorf("the game was asked %d times", n)
		}
		h.checkReceived(p...)
	})
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

// RT-52.
func TestBroadcastSendsOneGroupsMembersToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := startHost(t, nil, g.make)
		p := h.players(3, stock.Options{})
		h.joinGroup(p[0], 1)
		h.joinGroup(p[1], 1, p[0])
		g.do(t, func(s script.Session) { s.BroadcastGroupMembershipUpdate(1, -1) })
		for _, c := range p {
			h.expectMembers(c, -1, 1, 1, 2)
		}
		g.do(t, func(s script.Session) { s.BroadcastGroupMembershipUpdate(-1, 1) })
		for _, c := range p[:2] {
			h.expectMembers(c, -1, -1, 1, 2, 3)
		}
		g.do(t, func(s script.Session) {
			s.BroadcastGroupMembershipUpdate(9, -1) // unknown: empty
			s.BroadcastGroupMembershipUpdate(1, 9)  // to nobody
		})
		for _, c := range p {
			h.expectMembers(c, -1, 9)
		}
		h.noUpdate(p...)
		h.checkReceived(p...)
	})
}

// TestGroupAndMessageKeepTheirOrder: what a player sends behind its own JOIN or
// LEAVE sees the membership that it asked for.
func TestGroupAndMessageKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Limits.GroupOperationsPerSecond = 0 }, nil)
		p := h.players(2, stock.Options{NoUDP: true})
		h.joinGroup(p[1], 4)
		const rounds = 30
		for i := range rounds {
			for _, err := range []error{
				p[0].JoinGroup(4), p[0].Send(stock.Message{OpCode: 24, TargetGroup: 4, Payload: fmt.Append(nil, i), Reliable: true}),
				p[0].LeaveGroup(4), p[0].Send(stock.Message{OpCode: 25, TargetGroup: 4, Reliable: true}),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range rounds {
			for _, c := range p {
				if e := h.expect(c, stock.Op(24)); string(e.Payload) != fmt.Sprint(i) {
					t.Fatalf("round %d: %v", i, e)
				}
			}
		}
		h.dropped(counters.DropNotMember, rounds) // the second message of each round
		h.checkReceived(p...)
	})
}

func TestBadGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := startHost(t, func(c *host.Config) { c.Limits.GroupsPerPlayer, c.Limits.GroupsPerGameSession = 2, 3 }, g.make)
		p := h.players(2, stock.Options{})
		for i, group := range []int32{0, -1, -2, -1 << 31} { // cannot be joined or left: ignored
			for _, err := range []error{p[0].JoinGroup(group, stock.ChannelWebSocket), p[0].LeaveGroup(group, stock.ChannelWebSocket)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			h.dropped(counters.DropBadGroup, int64(2*i+2))
		}
		h.noUpdate(p...)
		if n := g.count("onPlayerJoinGroup") + g.count("onPlayerLeaveGroup"); n != 0 {
			t.Errorf("the game was asked %d times", n)
		}
		h.joinGroup(p[0], 1)
		h.joinGroup(p[0], 2)
		h.joinGroup(p[1], 3)
		for i, refused := range []struct {
			by    int
			group int32
		}{{0, 3}, {1, 4}} { // a third group of one player; a fourth of the game session
			if err := p[refused.by].JoinGroup(refused.group, stock.ChannelWebSocket); err != nil {
				t.Fatal(err)
			}
			h.expectMembers(p[refused.by], -1, refused.group, map[int32][]int32{3: {2}}[refused.group]...)
			h.dropped(counters.DropBadGroup, int64(8+i+1))
		}
		h.joinGroup(p[1], 1, p[0]) // a known one has room
		h.checkReceived(p...)
	})
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
