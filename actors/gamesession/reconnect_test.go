package gamesession_test

import (
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

const (
	windowDefault = 30 * time.Second
	pingDefault   = 3 * time.Second
	challengeTime = 2 * time.Second
)

func closed(w *world, c *actorstest.Client, want messages.CloseReason) {
	w.Helper()
	if reason, _ := c.Closed(); reason != want {
		w.Errorf("closed with %v, want %v", reason, want)
	}
}

// RT-53.
func TestInStrictModeALossIsALeave(t *testing.T) {
	strict(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, b := w.Player(id), w.Player(id)
		g.Take()
		g.Gone = func(peer messages.PeerID) { g.Session.Send(text(1), script.ToPlayer(1).Reliably()) }
		b.Lose()
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]")
		w.Want(b.ID, messages.PlayerSessionCompleted, 1)
		equal(w, "a", a.Take(), "1 from -1 to player 1: x")
		g.Session.Do(func() { equal(w, "players", g.Peers(), 1) })
		w.WaitIdle()
		refused(w, w.Enter(b.ID))
	})
}

// RT-53.
func TestALeaveIsALeaveInBothModes(t *testing.T) {
	for name, change := range map[string]func(*actors.Options){"strict": actorstest.Strict, "window": nil} {
		t.Run(name, func(t *testing.T) {
			actorstest.Run(t, change, func(w *world) {
				g := &game{}
				b := w.Player(w.Create(g))
				g.Take()
				b.Depart()
				equal(w, "callbacks", g.Take(), "gone 1 of [1]")
				w.Want(b.ID, messages.PlayerSessionCompleted, 0)
				w.Pass(time.Minute)
				equal(w, "callbacks later", g.Take(), "health")
			})
		})
	}
}

// RT-54.
func TestSendingToTheLeavingPlayerRaisesNothing(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		g.Gone = func(peer messages.PeerID) {
			g.Session.Send(text(1), script.ToPlayer(peer))
			g.Session.Send(text(2), script.ToPlayer(peer).Reliably())
			g.Session.Send(text(3), script.ToGroup(all).Reliably())
			g.Session.KickPlayer(peer, "again")
			panic("bug in a script") // the removal of the player continues
		}
		b.Depart()
		equal(w, "a", a.Take(), "3 from -1 to group -1: x")
		equal(w, "b", b.Take())
		w.Want(b.ID, messages.PlayerSessionCompleted, 1)
	})
}

// RL-108.
func TestALostPlayerIsDetachedForTheWindowAndThenLeavesOnce(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		a.Group(join, 5)
		b.Group(join, 5)
		g.Take()
		a.Take()
		b.Lose()
		w.Pass(windowDefault - time.Millisecond)
		w.Want(b.ID, messages.PlayerSessionActive, 2)
		assert.Equal(w, "detached", w.Count.Players.Get(counters.PlayerDetached), 1)
		g.Session.Do(func() { equal(w, "players", g.Peers(), 1, 2) })
		equal(w, "callbacks", g.Take())
		equal(w, "a sees", a.Take())

		w.Pass(time.Millisecond)
		w.Want(b.ID, messages.PlayerSessionCompleted, 1)
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]")
		equal(w, "a sees", a.Take(), "group 5 is [1] from -1 to 1")
		refused(w, w.Enter(b.ID))
		w.Pass(windowDefault)
		equal(w, "callbacks", g.Take(), "health")
	})
}

func TestAResumeKeepsPeerGroupsAndMessagesInOrder(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		b.Group(join, 5)
		a.Group(join, 5)
		w.Pass(pingDefault) // b confirms the messages it has
		g.Take()
		b.Take()
		b.Lose()
		a.Say(1, 2, 0, "direct")
		a.Say(2, 0, 5, "group")
		a.Say(3, 0, all, "all")
		w.Pass(windowDefault - time.Millisecond)
		again := w.Enter(b.ID)
		a.Say(4, 2, 0, "new")
		equal(w, "b", again.Take(), "login 2", "1 from 1 to player 2: direct", "2 from 1 to group 5: group",
			"3 from 1 to group -1: all", "4 from 1 to player 2: new")
		equal(w, "callbacks", g.Take())
		again.Say(5, 0, 5, "still a member")
		equal(w, "b", again.Take(), "5 from 2 to group 5: still a member")
		w.Pass(time.Hour) // the end of the old window has no effect
		w.Want(b.ID, messages.PlayerSessionActive, 2)
	})
}

// D-3.
func TestATakeoverClosesTheOldConnectionAndItsLateEndChangesNothing(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, old := w.Player(id), w.Player(id)
		old.Fast.Confirm()
		old.Stall(true) // the network is dead, but the host does not know
		g.Take()
		a.Say(1, 2, 0, "queued")
		w.WaitIdle()
		again := w.Enter(old.ID)
		closed(w, old, messages.CloseTakenOver)
		if !old.Fast.Closed() {
			w.Error("the old fast channel is open")
		}
		equal(w, "new", again.Take(), "login 2", "1 from 1 to player 2: queued")
		old.Stall(false)
		equal(w, "old", old.Take())
		w.WaitIdle() // RL-8: the end of the connection of epoch 1 has been handled
		assert.Equal(w, "events of old epochs", w.Count.OldEpochs.Load(), 1)
		a.Say(2, 2, 0, "more")
		w.Pass(time.Hour)
		equal(w, "new", again.Take(), "2 from 1 to player 2: more")
		assert.Equal(w, "resumed", w.Count.Logins.Get(counters.LoginResumed), 1)
	})
}

// reliability.md 2.6: with takeover = refuse, the old connection is asked for a sign of life and has 2 s to answer.
func TestWithoutTakeoverASecondLoginWaitsForTheFirstOnesSilence(t *testing.T) {
	cautious := func(o *actors.Options) { o.Fleet.Session.Takeover = false }
	actorstest.Run(t, cautious, func(w *world) {
		c := w.Player(w.Create(nil))
		again := w.Enter(c.ID)
		w.Pass(challengeTime - time.Millisecond)
		equal(w, "before the time is up", again.Take())
		refused(w, w.Enter(c.ID)) // only one challenger is allowed at a time
		w.Pass(time.Millisecond)
		refused(w, again)
		if c.Handle.Attachment() == nil {
			w.Error("the first connection is gone")
		}
		c.Lose()
		equal(w, "after the loss", w.Enter(c.ID).Take(), "login 1")
	})
	actorstest.Run(t, cautious, func(w *world) {
		c := w.Player(w.Create(nil))
		c.Silence()
		w.Pass(time.Millisecond)
		again := w.Enter(c.ID)
		w.Pass(challengeTime)
		equal(w, "the silent one is replaced", again.Take(), "login 1")
		closed(w, c, messages.CloseTakenOver)
	})
	actorstest.Run(t, cautious, func(w *world) { // the connection is lost while it is challenged
		c := w.Player(w.Create(nil))
		again := w.Enter(c.ID)
		c.Lose()
		equal(w, "at once", again.Take(), "login 1")
		w.Pass(time.Hour)
		if again.Handle.Attachment() == nil {
			w.Error("the second connection is gone")
		}
	})
	actorstest.Run(t, cautious, func(w *world) { // the challenger's connection ends
		c := w.Player(w.Create(nil))
		again := w.Enter(c.ID)
		again.Lose()
		c.Lose()
		w.Want(c.ID, messages.PlayerSessionActive, 1)
		equal(w, "the third", w.Enter(c.ID).Take(), "login 1")
	})
}

func TestAKickedPlayerGetsEarlierMessagesAndLeaves(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		w.Player(id)
		b := w.Player(id)
		g.Take()
		g.Session.Do(func() {
			g.Session.Send(text(1), script.ToPlayer(2).Reliably())
			g.Session.KickPlayer(2, "rude")
			g.Session.Send(text(2), script.ToPlayer(2).Reliably()) // sent in the same callback
		})
		equal(w, "b", b.Take(), "1 from -1 to player 2: x", "2 from -1 to player 2: x")
		closed(w, b, messages.CloseKicked)
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]")
		w.Want(b.ID, messages.PlayerSessionCompleted, 1)
		refused(w, w.Enter(b.ID))
		w.Pass(time.Minute)
		equal(w, "callbacks", g.Take(), "health")
	})
}

// Messages queued for a connection that never reads them are released when the connection ends.
func TestAKickedPlayerThatDoesNotReadHoldsNothing(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		b.Stall(true)
		b.Linger()
		a.Say(1, 2, 0, "never read")
		w.WaitIdle()
		g.Session.Do(func() { g.Session.KickPlayer(2, "rude") })
		closed(w, b, messages.CloseKicked)
		b.Lose() // the end of the test checks that all frames were released
	})
}

func TestAKickedDetachedOrJoiningPlayerIsGone(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		b := w.Player(id)
		b.Lose()
		g.Take()
		g.Session.Do(func() { g.Session.KickPlayer(1, "away too long") })
		equal(w, "callbacks", g.Take(), "gone 1 of [1]")
		w.Want(b.ID, messages.PlayerSessionCompleted, 0)

		g.Connect = func(p *script.ConnectMessage) bool { g.Session.KickPlayer(p.Player.PeerID, "no"); return true }
		c := w.Enter(w.Seat(id))
		refused(w, c)
		equal(w, "callbacks", g.Take(), "connect 2")
		w.Want(c.ID, messages.PlayerSessionTimedOut, 0)
	})
}

// reliability.md 4: the actor is restarted with its state, the connection is closed, and the player resumes.
func TestACrashedPlayerActorIsReplacedAndThePlayerResumes(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		b.Group(join, 5)
		w.Pass(pingDefault) // b confirms the messages it has
		b.Take()
		g.Take()
		b.Stall(true)
		a.Say(1, 2, 0, "kept")
		w.WaitIdle()
		b.Panic(false)
		closed(w, b, messages.CloseInternalError)
		w.Want(b.ID, messages.PlayerSessionActive, 2)
		a.Say(2, 2, 0, "missed")
		w.WaitIdle()
		again := w.Enter(b.ID)
		equal(w, "b", again.Take(), "login 2", "1 from 1 to player 2: kept", "2 from 1 to player 2: missed")
		again.Say(3, 0, 5, "still in it")
		equal(w, "b", again.Take(), "3 from 2 to group 5: still in it")
		equal(w, "callbacks", g.Take())
		assert.Equal(w, "restarts", w.Count.Restarts.Get(counters.ActorPlayer), 1)
		w.Pass(time.Minute)
		w.Want(b.ID, messages.PlayerSessionActive, 2)
	})
}

func TestACrashedPlayerActorInEveryStateIsReplaced(t *testing.T) {
	run(t, func(w *world) { // reserved: the reservation timer continues
		g := &game{}
		seat := w.Seat(w.Create(g))
		w.Pass(20 * time.Second)
		w.Panics++
		g.Session.Do(func() { gamesession.PlayerSession(g.Session, seat).Tell(stage.Panic{Text: "a test wants it"}) })
		w.Pass(40*time.Second - time.Millisecond)
		w.Want(seat, messages.PlayerSessionReserved, 1)
		w.Pass(time.Millisecond)
		w.Want(seat, messages.PlayerSessionTimedOut, 0)
	})
	run(t, func(w *world) { // detached: the reconnect window continues
		g := &game{}
		c := w.Player(w.Create(g))
		p := c.Handle.Attachment().Player
		c.Lose()
		w.Pass(20 * time.Second)
		w.Panics++
		p.Tell(stage.Panic{Text: "a test wants it"})
		g.Take()
		w.Pass(10*time.Second - time.Millisecond)
		w.Want(c.ID, messages.PlayerSessionActive, 1)
		w.Pass(time.Millisecond)
		w.Want(c.ID, messages.PlayerSessionCompleted, 0)
		equal(w, "callbacks", g.Take(), "gone 1 of [1]")
	})
	run(t, func(w *world) { // joining: the actor crashes while the login waits for the gate's decision
		g := &game{}
		seat := w.Seat(w.Create(g))
		g.Take()
		g.Connect = func(m *script.ConnectMessage) bool {
			w.Panics++
			gamesession.Player(g.Session, m.Player.PeerID).Tell(stage.Panic{Text: "a test wants it"})
			return true
		}
		closed(w, w.Enter(seat), messages.CloseTryLater)
		w.Want(seat, messages.PlayerSessionReserved, 1)
		g.Connect = nil
		equal(w, "again", w.Enter(seat).Take(), "login 1")
		equal(w, "callbacks", g.Take(), "connect 1", "connect 1", "accepted 1 of [1]")
	})
	run(t, func(w *world) { // leaving: the game is told only once
		g := &game{}
		c := w.Player(w.Create(g))
		p := c.Handle.Attachment().Player
		g.Take()
		g.Gone = func(messages.PeerID) {
			w.Panics++
			p.Tell(stage.Panic{Text: "a test wants it"})
		}
		c.Depart()
		equal(w, "callbacks", g.Take(), "gone 1 of [1]")
		w.Want(c.ID, messages.PlayerSessionCompleted, 0)
	})
}

func TestAKickIsNotLostInACrash(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		c := w.Player(w.Create(g))
		g.Take()
		p := c.Handle.Attachment().Player
		w.Panics++
		g.Session.Do(func() {
			p.Tell(stage.Panic{Text: "a test wants it"})
			g.Session.KickPlayer(1, "rude")
		})
		equal(w, "callbacks", g.Take(), "gone 1 of [1]")
		w.Want(c.ID, messages.PlayerSessionCompleted, 0)
	})
}

// RL-24: the fourth crash within 10 s ends the player session, once and cleanly.
func TestTheFourthCrashInTenSecondsEndsThePlayerSession(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		other, c := w.Player(id), w.Player(id)
		other.Group(join, 1)
		c.Group(join, 1)
		other.Take()
		g.Take()
		for range 3 {
			c.Panic(false)
			w.Pass(time.Second)
			c = w.Enter(c.ID)
			equal(w, "answer", c.Take()[:1], "login 2")
		}
		c.Panic(false)
		closed(w, c, messages.CloseInternalError)
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]")
		equal(w, "the other", other.Take(), "group 1 is [1] from -1 to 1")
		w.Want(c.ID, messages.PlayerSessionCompleted, 1)
		refused(w, w.Enter(c.ID))
		assert.Equal(w, "restarts", w.Count.Restarts.Get(counters.ActorPlayer), 3)
	})
	run(t, func(w *world) { // crashes over a longer time are not counted together
		c := w.Player(w.Create(nil))
		for range 6 {
			c.Panic(false)
			w.Pass(5 * time.Second)
			c = w.Enter(c.ID)
		}
		w.Want(c.ID, messages.PlayerSessionActive, 1)
	})
}

func TestACrashedGroupKeepsItsMembersAndPendingOperationsGoOn(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, b, c := w.Player(id), w.Player(id), w.Player(id)
		a.Group(join, 5)
		w.WaitIdle()
		b.Group(join, 5)
		a.Take()
		b.Take()
		w.Panics++
		g.Join = func(id messages.GroupID, peer messages.PeerID) bool {
			gamesession.GroupRef(g.Session, 5).Tell(stage.Panic{Text: "a test wants it"}) // handled before the Join
			g.Join = nil
			return true
		}
		c.Group(join, 5)
		c.Say(1, 0, 5, "behind the join")
		b.Group(leave, 5)
		equal(w, "c", c.Take(), "group 5 is [1 2 3] from -1 to 3", "1 from 3 to group 5: behind the join", "group 5 is [1 3] from -1 to 3")
		equal(w, "a", a.Take(), "group 5 is [1 2 3] from -1 to 1", "1 from 3 to group 5: behind the join", "group 5 is [1 3] from -1 to 1")
		equal(w, "b", b.Take(), "group 5 is [1 2 3] from -1 to 2", "1 from 3 to group 5: behind the join")
		assert.Equal(w, "restarts", w.Count.Restarts.Get(counters.ActorGroup), 1)
		a.Depart()
		c.Depart()
		assert.Equal(w, "group actors are left", w.System.Live(counters.ActorGroup), 0)
	})
}

// An answer of a crashed group must not be mistaken for one of its successor.
func TestAnAnswerOfACrashedGroupIsNotCountedTwice(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		a.Group(join, 5)
		a.Take()
		w.Panics++
		g.Message = func(*script.Message) {
			gamesession.GroupRef(g.Session, 5).Tell(stage.Panic{Text: "a test wants it"}) // handled after the Join
		}
		g.Session.Do(func() { time.Sleep(time.Second) }) // so that both are waiting in the mailbox
		b.Group(join, 5)
		a.Say(1, messages.ServerPeer, 0, "")
		w.Pass(2 * time.Second)
		a.Say(2, 0, 5, "both are in")
		got := a.Take()
		equal(w, "a", got[len(got)-2:], "group 5 is [1 2] from -1 to 1", "2 from 1 to group 5: both are in")
		got = b.Take()
		equal(w, "b", got[len(got)-2:], "group 5 is [1 2] from -1 to 2", "2 from 1 to group 5: both are in")
		a.Depart()
		b.Depart()
		assert.Equal(w, "group actors are left", w.System.Live(counters.ActorGroup), 0)
	})
}

// A player leaves while its group crashes. The other members are still told.
func TestALeaveDuringAGroupsCrashReachesTheMembers(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		a.Group(join, 5)
		w.WaitIdle()
		b.Group(join, 5)
		a.Take()
		w.Panics++
		g.Gone = func(messages.PeerID) {
			gamesession.GroupRef(g.Session, 5).Tell(stage.Panic{Text: "a test wants it"})
		}
		b.Depart()
		equal(w, "a", a.Take(), "group 5 is [1] from -1 to 1")
	})
}

func TestTheEleventhGroupCrashInTenSecondsEndsTheGameSession(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a := w.Player(id)
		a.Group(join, 5)
		w.WaitIdle()
		for i := range 11 {
			if s := w.Game(id).Status; s != messages.GameSessionActive {
				w.Fatalf("%v after %d crashes", s, i)
			}
			w.Panics++
			g.Session.Do(func() { gamesession.GroupRef(g.Session, 5).Tell(stage.Panic{Text: "a test wants it"}) })
			w.WaitIdle()
		}
		closed(w, a, messages.CloseGameCrashed)
		if s := w.Game(id); s.Status != messages.GameSessionTerminated || s.EndText != "group restarted too often" {
			w.Errorf("%v: %s", s.Status, s.EndText)
		}
	})
}

// A crash of a game session's actor ends the game session with a status that says so. Other game sessions are not
// affected.
func TestACrashedGameSessionIsTerminatedAndItsPlayersAreClosed(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id, other := w.Create(g), w.Create(nil)
		a, b, away := w.Player(id), w.Player(other), w.Player(id)
		reserved := w.Seat(id)
		a.Group(join, 5)
		w.WaitIdle()
		away.Lose()
		a.Say(1, 2, 0, "queued for ever")
		g.Take()
		a.Panic(true)
		closed(w, a, messages.CloseGameCrashed)
		if s := w.Game(id); s.Status != messages.GameSessionTerminated || s.Terminated.IsZero() || s.CurrentPlayers != 0 {
			w.Errorf("%v, %d players", s.Status, s.CurrentPlayers)
		}
		w.Want(a.ID, messages.PlayerSessionCompleted, 0)
		w.Want(away.ID, messages.PlayerSessionCompleted, 0)
		w.Want(reserved, messages.PlayerSessionTimedOut, 0)
		equal(w, "callbacks", g.Take())
		refused(w, w.Enter(a.ID))
		refused(w, w.Enter(reserved))
		_, err := w.Seats(id, "x")
		w.IsError(err, messages.InvalidGameSessionStatus)
		if g.Session.Do(func() {}) {
			w.Error("a task was taken")
		}

		b.Say(1, 1, 0, "works")
		equal(w, "b", b.Take(), "1 from 1 to player 1: works")
		assert.Equal(w, "group actors are left", w.System.Live(counters.ActorGroup), 0)
	})
}
