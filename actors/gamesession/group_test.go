package gamesession_test

import (
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/messages"
	"troupe/messages/counters"
)

// RT-45.
func TestAJoinInformsAllMembers(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, b, c := w.Player(id), w.Player(id), w.Player(id)
		g.Take()
		b.Group(join, 7)
		w.WaitIdle()
		a.Group(join, 7)
		equal(w, "a", a.Take(), "group 7 is [2 1] from -1 to 1")
		equal(w, "b", b.Take(), "group 7 is [2] from -1 to 2", "group 7 is [2 1] from -1 to 2")
		equal(w, "c", c.Take())
		equal(w, "callbacks", g.Take(), "join 7 by 2", "join 7 by 1")

		a.Group(join, 7) // a second time: the game is asked and the request is answered, but nothing changes
		equal(w, "a", a.Take(), "group 7 is [2 1] from -1 to 1")
		equal(w, "b", b.Take())
		equal(w, "callbacks", g.Take(), "join 7 by 1")
		a.Say(1, 0, 7, "once")
		equal(w, "a", a.Take(), "1 from 1 to group 7: once")
	})
}

// RT-46.
func TestARefusedJoinIsAnsweredToTheRequesterAlone(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		b.Group(join, 7)
		b.Take()
		g.Join = func(messages.GroupID, messages.PeerID) bool { return false }
		a.Group(join, 7)
		a.Group(join, 8)
		w.WaitIdle()
		g.Join = func(messages.GroupID, messages.PeerID) bool { panic("bug in a script") }
		a.Group(join, 9)
		equal(w, "a", a.Take(), "group 7 is [2] from -1 to 1", "group 8 is [] from -1 to 1", "group 9 is [] from -1 to 1")
		equal(w, "b", b.Take())
	})
}

// RT-47.
func TestALeaveInformsThoseWhoRemain(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		a.Group(join, 7)
		b.Group(join, 7)
		a.Take()
		b.Take()
		g.Leave = func(_ messages.GroupID, peer messages.PeerID) bool { return peer == 2 }
		a.Group(leave, 7) // the game refuses
		b.Group(leave, 7)
		b.Group(leave, 7) // b is no longer a member
		b.Group(leave, 99)
		w.WaitIdle()
		a.Say(1, 0, 7, "later")
		a.Say(2, 0, 7, "traffic")
		equal(w, "b", b.Take(), "group 7 is [1] from -1 to 2", "group 99 is [] from -1 to 2")
		equal(w, "a", a.Take(), "group 7 is [1 2] from -1 to 1", "group 7 is [1] from -1 to 1",
			"1 from 1 to group 7: later", "2 from 1 to group 7: traffic")
	})
}

// RT-48, D-110.
func TestARequestIsAnsweredForAnyGroup(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		a, b := w.Player(id), w.Player(id)
		b.Group(join, 7)
		b.Take()
		for _, g := range []messages.GroupID{7, 8, -1, 0, -9} {
			a.Group(request, g)
		}
		equal(w, "a", a.Take(), "group 7 is [2] from 1 to 1", "group 8 is [] from 1 to 1", "group -1 is [1 2] from 1 to 1",
			"group 0 is [] from 1 to 1", "group -9 is [] from 1 to 1")
		equal(w, "b", b.Take())
	})
}

// RT-51, D-111.
func TestADisconnectTellsTheOtherMembersAfterTheCallback(t *testing.T) {
	actorstest.Run(t, actorstest.Strict, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, b, c := w.Player(id), w.Player(id), w.Player(id)
		for _, x := range []*actorstest.Client{a, b} {
			x.Group(join, 7)
			x.Group(join, 8)
			w.WaitIdle()
		}
		c.Group(join, 8)
		w.WaitIdle()
		for _, x := range []*actorstest.Client{a, b, c} {
			x.Take()
		}
		g.Gone = func(messages.PeerID) { g.Session.BroadcastGroupMembershipUpdate(7, 7) } // b is still a member
		b.Lose()
		equal(w, "a", a.Take(), "group 7 is [1 2] from -1 to 1", "group 7 is [1] from -1 to 1", "group 8 is [1 3] from -1 to 1")
		equal(w, "c", c.Take(), "group 8 is [1 3] from -1 to 3")
	})
}

// RT-52.
func TestBroadcastSendsOneGroupsListToAnother(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		b.Group(join, 1)
		b.Take()
		g.Session.Do(func() {
			g.Session.BroadcastGroupMembershipUpdate(1, -1)
			g.Session.BroadcastGroupMembershipUpdate(-1, 1)
		})
		equal(w, "a", a.Take(), "group 1 is [2] from -1 to 1")
		equal(w, "b", b.Take(), "group 1 is [2] from -1 to 2", "group -1 is [1 2] from -1 to 2")
	})
}

func TestAJoinAndTheMessagesBehindItKeepTheirOrder(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(&game{})
		a := w.Player(id)
		a.Group(join, 1)
		a.Say(1, 0, 1, "in")
		a.Group(join, 2)
		a.Say(2, 0, 2, "in")
		a.Group(leave, 1)
		a.Say(3, 0, 1, "out")
		a.Group(request, 1)
		equal(w, "a", a.Take(), "group 1 is [1] from -1 to 1", "1 from 1 to group 1: in",
			"group 2 is [1] from -1 to 1", "2 from 1 to group 2: in", "group 1 is [] from 1 to 1")
	})
}

// Messages that a player sent before it left are still delivered, even if they wait for a group operation.
func TestALeaveDoesNotOvertakeMessagesThatWaitForAGroup(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		b.Group(join, 2)
		b.Take()
		g.Take()
		a.Group(join, 1)
		a.Group(join, 2)
		a.Say(1, 0, 2, "bye")
		a.Depart()
		equal(w, "b", b.Take(), "group 2 is [2 1] from -1 to 2", "1 from 1 to group 2: bye", "group 2 is [2] from -1 to 2")
		equal(w, "callbacks", g.Take(), "join 1 by 1", "join 2 by 1", "gone 1 of [1 2]")
	})
}

func TestGroupsAreBoundedAndGroupIDsMustBePositive(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Session.GroupsPerPlayerMax, o.Fleet.Session.GroupsMax = 2, 3
	}, func(w *world) {
		id := w.Create(nil)
		a, b := w.Player(id), w.Player(id)
		for _, g := range []messages.GroupID{1, 2, 3, 1, 0, -1} {
			a.Group(join, g)
		}
		a.Group(leave, -1)
		equal(w, "a", a.Take(), "group 1 is [1] from -1 to 1", "group 2 is [1] from -1 to 1", "group 3 is [] from -1 to 1",
			"group 1 is [1] from -1 to 1")
		for _, g := range []messages.GroupID{3, 4} {
			b.Group(join, g)
		}
		equal(w, "b", b.Take(), "group 3 is [2] from -1 to 2", "group 4 is [] from -1 to 2")
		assert.Equal(w, "dropped", w.Count.Dropped.Get(counters.DropBadGroup), 5)
		a.Group(leave, 1) // makes room for other groups
		w.WaitIdle()
		b.Group(join, 4)
		equal(w, "b", b.Take(), "group 4 is [2] from -1 to 2")
		assert.Equal(w, "group actors", w.System.Live(counters.ActorGroup), 3)
	})
}

func TestAGroupLivesAsLongAsItHasMembers(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		a := w.Player(id)
		for range 3 {
			a.Group(join, 1)
			w.WaitIdle()
			assert.Equal(w, "group actors", w.System.Live(counters.ActorGroup), 1)
			a.Group(leave, 1)
			w.WaitIdle()
			assert.Equal(w, "group actors of nobody", w.System.Live(counters.ActorGroup), 0)
		}
		a.Group(join, 1)
		a.Lose()
		w.Pass(30 * time.Second)
		assert.Equal(w, "group actors of nobody", w.System.Live(counters.ActorGroup), 0)
	})
}
