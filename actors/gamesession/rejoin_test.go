package gamesession_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/wire"
)

// D-2: a player that left may log in again. It gets the same peer id and all callbacks, but no missed messages, and it
// is in no groups.
func TestALeaverRejoinsAsANewPlayerWithItsPeerID(t *testing.T) {
	two(t, func(w *world, g *game, id messages.GameSessionID, a, b *actorstest.Client) {
		b.Group(join, 5)
		w.WaitIdle()
		for range 3 { // several times
			g.Take()
			b.Depart()
			w.Want(b.ID, messages.PlayerSessionCompleted, 1)
			a.Say(1, 2, 0, "to nobody")
			w.WaitIdle()
			b = w.Enter(b.ID)
			w.Want(b.ID, messages.PlayerSessionActive, 2)
			equal(w, "b", b.Take(), "login 2")
			equal(w, "callbacks", g.Take(), "gone 2 of [1 2]", "connect 2", "accepted 2 of [1 2]")
			b.Say(2, 0, 5, "not a member")
			a.Take()
			a.Say(3, 2, 0, "to the new one")
			equal(w, "b", b.Take(), "3 from 1 to player 2: to the new one")
		}
		c := w.Player(id)
		assert.Equal(w, "the next player is", c.Peer(), 3)
		b.Lose() // after the rejoin it is a normal player
		w.Want(b.ID, messages.PlayerSessionActive, 3)
		w.Pass(windowDefault)
		w.Want(b.ID, messages.PlayerSessionCompleted, 2)
		refused(w, w.Enter(b.ID)) // the player did not leave
	})
}

func TestARejoinNeedsRoomAndTheGamesConsent(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		one, err := w.Try(messages.CreateGameSession{FleetID: actorstest.Fleet, MaxPlayers: 1}, g)
		assert.NoError(w, err)
		a := w.Player(one.ID)
		a.Depart()
		other := w.Player(one.ID)
		refused(w, w.Enter(a.ID)) // the game session is full
		w.Want(a.ID, messages.PlayerSessionCompleted, 1)
		other.Depart()
		g.Connect = func(*script.ConnectMessage) bool { return false }
		refused(w, w.Enter(a.ID))
		w.Want(a.ID, messages.PlayerSessionCompleted, 0)
		g.Connect = nil
		g.Take()
		back := w.Enter(a.ID)
		equal(w, "a", back.Take(), "login 1")
		w.Want(a.ID, messages.PlayerSessionActive, 1)
		refused(w, w.Enter(other.ID))
		if _, err := w.Seats(one.ID, ""); err == nil {
			w.Error("a seat was sold twice")
		}
	})
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.Rejoin = false }, func(w *world) {
		a := w.Player(w.Create(nil))
		a.Depart()
		refused(w, w.Enter(a.ID))
	})
	strict(t, func(w *world) {
		a := w.Player(w.Create(nil))
		a.Depart()
		refused(w, w.Enter(a.ID))
	})
}

// A rejoin that arrives while the leave is being handled waits for it.
func TestARejoinRightBehindTheLeave(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		a := w.Player(w.Create(g))
		g.Take()
		late, later := w.Open(), w.Open()
		g.Gone = func(messages.PeerID) {
			g.Gone = nil
			late.LogIn(a.ID, "")
			later.LogIn(a.ID, "")
			time.Sleep(time.Millisecond)
		}
		a.Depart()
		w.Pass(time.Second)
		switch got := fmt.Sprint(late.Take(), later.Take()); got {
		case "[refused] [login 1]", "[login 1] [refused]": // one login waited for the other
		case "[login 1] [login 1]": // the second login came after the first was accepted, and took over
		case "[] [login 1]": // the second login came while the gate decided, and replaced the first
			closed(w, late, messages.CloseTakenOver)
		case "[login 1] []":
			closed(w, later, messages.CloseTakenOver)
		default:
			w.Errorf("answers %s", got)
		}
		equal(w, "callbacks", g.Take(), "gone 1 of [1]", "connect 1", "accepted 1 of [1]")
		w.Want(a.ID, messages.PlayerSessionActive, 1)
	})
}

// D-6.
func TestTheGameIsAskedAboutALossAndToldOfTheReturn(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		verdict := script.Hold
		g.Detached = func(messages.PeerID) script.Decision { return verdict }
		g.Back = func(peer messages.PeerID, _ script.Reconnected) {
			g.Session.Send(text(9), script.ToPlayer(peer).Reliably()) // sent after the missed messages
		}
		w.Pass(pingDefault)
		g.Take()
		b.Lose()
		equal(w, "callbacks", g.Take(), "detached 2: reset")
		a.Say(1, 2, 0, "missed")
		w.Pass(time.Second)
		b = w.Enter(b.ID)
		equal(w, "callbacks", g.Take(), "back 2: {Resent:0 Lost:0 Away:1s Takeover:false}")
		equal(w, "b", b.Take(), "login 2", "1 from 1 to player 2: missed", "9 from -1 to player 2: x")
		b = w.Enter(b.ID) // b logs in again and takes over
		equal(w, "callbacks", g.Take(), "back 2: {Resent:2 Lost:0 Away:0s Takeover:true}")
		verdict = script.Release
		b.Lose()
		w.Want(b.ID, messages.PlayerSessionCompleted, 1)
		equal(w, "callbacks", g.Take(), "detached 2: reset", "gone 2 of [1 2]")
		g.Detached = func(messages.PeerID) script.Decision { panic("bug in a script") }
		a.Lose()
		w.Want(a.ID, messages.PlayerSessionActive, 1) // the game holds the player session
	})
}

func TestAGameSessionHasItsOwnWindow(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"0": 0, "5": 5 * time.Second, "600": 10 * time.Minute, "601": windowDefault, "-1": windowDefault, "soon": windowDefault, "": windowDefault,
	} {
		run(t, func(w *world) {
			game, err := w.Try(messages.CreateGameSession{FleetID: actorstest.Fleet, MaxPlayers: 8, Properties: []messages.Property{
				{Key: "other", Value: "7"}, {Key: "troupe.reconnectWindowSeconds", Value: value}}}, &game{})
			assert.NoError(w, err)
			c := w.Player(game.ID)
			c.Lose()
			if want > 0 {
				w.Pass(want - time.Millisecond)
				w.Want(c.ID, messages.PlayerSessionActive, 1)
				w.Pass(time.Millisecond)
			}
			w.Want(c.ID, messages.PlayerSessionCompleted, 0)
		})
	}
}

func TestAScriptHasItsOwnWindow(t *testing.T) {
	for _, c := range []struct{ script, property, want time.Duration }{
		{script: 5 * time.Second, want: 5 * time.Second}, {script: 0, want: 0}, {script: time.Hour, want: windowDefault},
		{script: 5 * time.Second, property: 7 * time.Second, want: 7 * time.Second},
	} {
		run(t, func(w *world) {
			req := messages.CreateGameSession{FleetID: actorstest.Fleet, MaxPlayers: 8}
			if c.property > 0 {
				req.Properties = []messages.Property{{Key: "troupe.reconnectWindowSeconds", Value: fmt.Sprint(c.property.Seconds())}}
			}
			game := assert.Value(w.Try(req, &game{Conf: script.Configuration{ReconnectWindow: &c.script}}))(w)
			p := w.Player(game.ID)
			p.Lose()
			if c.want > 0 {
				w.Pass(c.want - time.Millisecond)
				w.Want(p.ID, messages.PlayerSessionActive, 1)
				w.Pass(time.Millisecond)
			}
			w.Want(p.ID, messages.PlayerSessionCompleted, 0)
		})
	}
}

func numbered(w *world, id messages.PlayerSessionID, token string, received uint64) *actorstest.Client {
	c := w.Open()
	c.LogInNumbered(id, token, received)
	w.WaitIdle()
	return c
}

func equalNumbers(w *world, c *actorstest.Client, want ...actorstest.Numbers) {
	w.Helper()
	if got := fmt.Sprint(c.Numbers()); got != fmt.Sprint(want) {
		w.Errorf("numbers %v, want %v", got, want)
	}
}

func nums(relSeq, ack uint64) actorstest.Numbers {
	return actorstest.Numbers{RelSeq: relSeq, Ack: ack}
}

// The whole sequence of reliability.md 2.4 and 2.2, from the login to the second resume.
func TestNumbersAcksAndTokens(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(&game{})
		a := w.Player(id)
		b := numbered(w, w.Seat(id), "", 0)
		first := b.LoginResult()
		if first.Caps != wire.CapNumbers || first.Outcome != wire.OutcomeNew || first.WindowMs != 30_000 || first.Base != 0 || len(first.ReconnectToken) != 43 {
			w.Errorf("%+v", first)
		}
		for i := range 3 {
			a.Say(int32(i+1), 2, 0, "x")
		}
		equalNumbers(w, b, nums(1, 0), nums(2, 0), nums(3, 0))
		b.SayNumbered(1, 1, 1, "one")
		b.SayNumbered(1, 1, 1, "one again")
		b.SayNumbered(2, 2, 1, "two")
		equal(w, "a", a.Take(), "1 from 2 to player 1: one", "2 from 2 to player 1: two")
		equalNumbers(w, b)
		w.Pass(200 * time.Millisecond)
		equalNumbers(w, b, nums(0, 2)) // an ack packet
		b.SayNumbered(3, 3, 2, "to myself")
		equalNumbers(w, b, nums(4, 3)) // the ack is carried by an outgoing message
		for n := uint64(4); n < 20; n++ {
			b.SayNumbered(n, 1, 1, "x")
		}
		equalNumbers(w, b, nums(0, 19)) // an ack after 16 packets
		if !b.Handle.Attachment().Player.Out.Acked(1, 3) {
			w.Error("3 of 4 is no violation")
		}

		b.Lose()
		a.Take()
		a.Say(5, 2, 0, "missed")
		w.WaitIdle()
		dead := numbered(w, b.ID, "a wrong token", 4)
		refused(w, dead)
		liar := numbered(w, b.ID, first.ReconnectToken, 6) // number 6 was never sent
		refused(w, liar)
		assert.Equal(w, "dead tokens", w.Count.DeadTokens.Load(), 2)
		b = numbered(w, b.ID, first.ReconnectToken, 4) // the client has received 4, but its ack was lost
		second := b.LoginResult()
		if second.Outcome != wire.OutcomeResumed || second.Base != 4 || second.LastReceived != 19 || second.ReconnectToken == first.ReconnectToken {
			w.Errorf("%+v", second)
		}
		equalNumbers(w, b, nums(5, 0))
		old := b
		b = numbered(w, b.ID, first.ReconnectToken, 4) // the answer was lost, so the old token is still valid
		if r := b.LoginResult(); !r.Success || r.Base != 4 {
			w.Errorf("%+v", r)
		}
		closed(w, old, messages.CloseTakenOver)
		equalNumbers(w, b, nums(5, 0))
		third := b.LoginResult()
		assert.Equal(w, "the client may have either answer, and one of them has a dead token", third.ReconnectToken, second.ReconnectToken)
		b.Handle.Attachment().Player.Out.Acked(3, 5)
		refused(w, numbered(w, b.ID, first.ReconnectToken, 5)) // now the old token is invalid
		closed(w, b, 0)
		if b = numbered(w, b.ID, third.ReconnectToken, 5); !b.LoginResult().Success {
			w.Error("the newest token is refused")
		}
		equalNumbers(w, b)
	})
}

func TestAJumpInTheNumbersClosesTheConnectionAlone(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(&game{})
		a := w.Player(id)
		b := numbered(w, w.Seat(id), "", 0)
		held := b.Handle.Attachment() // taken now, because the connection may be closed before the last of these messages
		b.SayAs(held, 1, 1, 1, "one")
		b.SayAs(held, 3, 3, 1, "three")
		b.SayAs(held, 2, 2, 1, "two")
		closed(w, b, messages.CloseOutOfOrder)
		equal(w, "a", a.Take(), "1 from 2 to player 1: one", "2 from 2 to player 1: two")
		w.Want(b.ID, messages.PlayerSessionActive, 2)
		b = numbered(w, b.ID, b.LoginResult().ReconnectToken, 0)
		if r := b.LoginResult(); r.LastReceived != 2 {
			w.Errorf("%+v", r)
		}
	})
}

// If messages exceed the budget of an absent player, its player session ends, or there is a gap about which the client
// is told.
func TestOverflowWhileAwayIsAnEndOrAGap(t *testing.T) {
	for _, gap := range []bool{false, true} {
		small := func(o *actors.Options) {
			o.Fleet.Session.Budget = player.Budget{BytesMax: 1 << 20, MessagesMax: 8, Gap: gap}
		}
		actorstest.Run(t, small, func(w *world) {
			g := &game{}
			g.Back = func(messages.PeerID, script.Reconnected) {}
			id := w.Create(g)
			a := w.Player(id)
			b := numbered(w, w.Seat(id), "", 0)
			token := b.LoginResult().ReconnectToken
			g.Take()
			b.Lose()
			for i := range 12 {
				a.Say(int32(i+1), 2, 0, "x")
				w.WaitIdle()
			}
			if !gap {
				w.Want(b.ID, messages.PlayerSessionCompleted, 1)
				equal(w, "callbacks", g.Take(), "gone 2 of [1 2]")
				return
			}
			b = numbered(w, b.ID, token, 0)
			if r := b.LoginResult(); r.Outcome != wire.OutcomeReplayLost || r.Base != 4 { // 8 of 12 are kept
				w.Errorf("%+v", r)
			}
			equal(w, "callbacks", g.Take(), "back 2: {Resent:0 Lost:4 Away:0s Takeover:false}")
			assert.Equal(w, "came", len(b.Numbers()), 8)
		})
	}
}

// If the player actor crashes during a rejoin, no place in the game session is leaked.
func TestACrashWhileAPlayerRejoinsLeaksNothing(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		one := assert.Value(w.Try(messages.CreateGameSession{FleetID: actorstest.Fleet, MaxPlayers: 1}, g))(w)
		a := w.Player(one.ID)
		a.Depart()
		again := w.Open()
		g.Connect = func(m *script.ConnectMessage) bool {
			w.Panics++
			gamesession.Player(g.Session, m.Player.PeerID).Tell(stage.Panic{Text: "a test wants it"})
			return true
		}
		again.LogIn(a.ID, "")
		w.WaitIdle()
		g.Connect = nil
		w.Want(a.ID, messages.PlayerSessionCompleted, 0)
		equal(w, "the next one", w.Enter(a.ID).Take(), "login 1")
		w.Want(a.ID, messages.PlayerSessionActive, 1)
	})
}

func TestAPlayerKickedDuringItsRejoinStaysOut(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		a := w.Player(w.Create(g))
		a.Depart()
		g.Connect = func(m *script.ConnectMessage) bool { g.Session.KickPlayer(m.Player.PeerID, "no"); return true }
		refused(w, w.Enter(a.ID))
		g.Connect = nil
		refused(w, w.Enter(a.ID))
		w.Want(a.ID, messages.PlayerSessionCompleted, 0)
	})
}

// Late input from an older connection of a stock client is ignored, because the player has already sent newer messages
// on a later connection.
func TestLateInputOfAnOlderConnectionIsIgnored(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(&game{})
		a, old := w.Player(id), w.Player(id)
		held := old.Handle.Attachment()
		fresh := w.Enter(old.ID)
		old.SayAs(held, 0, 1, 1, "before it said anything else: taken")
		w.WaitIdle()
		fresh.Say(2, 1, 0, "newer")
		w.WaitIdle()
		old.SayAs(held, 0, 3, 1, "too late")
		equal(w, "a", a.Take(), "1 from 2 to player 1: before it said anything else: taken", "2 from 2 to player 1: newer")
		if n := w.Count.OldEpochs.Load(); n < 1 {
			w.Errorf("%d old events", n)
		}
	})
}

// Messages that a player has received do not count as lost, even if the budget dropped them.
func TestAGapCountsOnlyMessagesThatThePlayerDoesNotHave(t *testing.T) {
	small := func(o *actors.Options) {
		o.Fleet.Session.Budget = player.Budget{BytesMax: 1 << 20, MessagesMax: 8, Gap: true}
	}
	actorstest.Run(t, small, func(w *world) {
		g := &game{}
		g.Back = func(messages.PeerID, script.Reconnected) {}
		id := w.Create(g)
		a := w.Player(id)
		b := numbered(w, w.Seat(id), "", 0)
		token := b.LoginResult().ReconnectToken
		for i := range 14 {
			if i == 8 { // the client has received 8, but its acks were lost
				b.Lose()
				g.Take()
			}
			a.Say(int32(i+1), 2, 0, "x")
			w.WaitIdle()
		}
		b = numbered(w, b.ID, token, 8)
		if r := b.LoginResult(); r.Outcome != wire.OutcomeResumed || r.Base != 8 {
			w.Errorf("%+v", r)
		}
		equal(w, "callbacks", g.Take(), "back 2: {Resent:0 Lost:0 Away:0s Takeover:false}")
		assert.Equal(w, "are said to be lost", w.Count.Lost.Load()+w.Count.Gaps.Load(), 0)
		assert.Equal(w, "came", len(b.Numbers()), 6)
	})
}

// A client that moves to another connection sends the last number it has received in its LOGIN. Until the host reads
// that LOGIN, the client continues to receive and acknowledge messages on the old connection. No message may be lost.
func TestMessagesAcknowledgedDuringAMoveAreNotLost(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		g.Back = func(messages.PeerID, script.Reconnected) {}
		id := w.Create(g)
		a := w.Player(id)
		b := numbered(w, w.Seat(id), "", 0)
		token := b.LoginResult().ReconnectToken
		for i := range 5 {
			a.Say(int32(i+1), 2, 0, "x")
			w.WaitIdle()
		}
		g.Take()
		b.Ack(4) // sent after the LOGIN, which says 1
		next := numbered(w, b.ID, token, 1)
		if r := next.LoginResult(); r.Outcome != wire.OutcomeResumed || r.Base != 4 {
			w.Errorf("%+v", r)
		}
		equal(w, "callbacks", g.Take(), "back 2: {Resent:1 Lost:0 Away:0s Takeover:true}")
		assert.Equal(w, "are said to be lost", w.Count.Lost.Load()+w.Count.Gaps.Load(), 0)
	})
}

// A leave is final. A login that follows immediately is a rejoin, even if the game session was busy in between.
func TestARejoinWhileTheGameIsBusy(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		b.Group(join, 5)
		g.Take()
		next := w.Open()
		g.Message = func(*script.Message) {
			g.Message = nil
			time.Sleep(100 * time.Millisecond) // the callback takes 100 ms
		}
		a.Say(1, messages.ServerPeer, 0, "x")
		time.Sleep(10 * time.Millisecond)
		b.Depart() // close code 1000
		time.Sleep(10 * time.Millisecond)
		next.LogIn(b.ID, "")
		time.Sleep(time.Second)
		cb := g.Take()
		equal(w, "callbacks", cb[1:], "gone 2 of [1 2]", "connect 2", "accepted 2 of [1 2]")
	})
}

// A leave is handled as a leave even if the player actor crashes before it receives the Ended message.
func TestALeaveIsNotLostInACrash(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		g.Take()
		w.Panics++
		g.Message = func(*script.Message) {
			time.Sleep(time.Millisecond) // until b has left
			gamesession.Player(g.Session, 2).Tell(stage.Panic{Text: "a test wants it"})
		}
		a.Say(1, messages.ServerPeer, 0, "x")
		b.Depart()
		w.Pass(time.Second)
		w.Want(b.ID, messages.PlayerSessionCompleted, 1)
	})
}

// A login that waits for the login limiter is replaced by one that waits for the leave. The new login gets the full
// waiting time.
func TestALeaveComesBeforeALoginThatReplacesAPausedOne(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w)
		a, b := w.Player(id), w.Player(id)
		g.Take()
		first := w.Open()
		first.ID = b.ID
		first.Handle.Login(&player.Login{ID: b.ID, From: first.Handle, At: time.Now(), Pause: time.Second})
		w.WaitIdle()
		b.Say(1, a.Peer(), 0, "last words")
		w.WaitIdle()
		b.Depart()
		next := w.Enter(b.ID)
		w.Pass(2 * time.Second)
		g.decide(w, true)
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]", "accepted 2 of [1 2]")
		equal(w, "next", next.Take(), "login 2")
	})
}

// While a leave is pending, a login that will be refused anyway neither waits for the leave nor replaces a login that
// does.
func TestADeadTokenDoesNotWaitForALeave(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w)
		a, b := w.Player(id), w.Player(id)
		g.Take()
		b.Say(1, a.Peer(), 0, "last words")
		w.WaitIdle()
		b.Depart()
		good := w.Enter(b.ID)
		bad := w.Open()
		bad.LogInNumbered(b.ID, "nonsense", 0)
		w.Pass(time.Second)
		equal(w, "dead", bad.Take(), "refused")
		g.decide(w, true)
		equal(w, "a", a.Take(), "1 from 2 to player 1: last words")
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]", "accepted 2 of [1 2]")
		equal(w, "good", good.Take(), "login 2")
	})
}

// In strict mode too, a login that will be refused anyway is refused at once.
func TestStrictModeDoesNotWaitForALeave(t *testing.T) {
	strict(t, func(w *world) {
		g, id := begun(w)
		a, b := w.Player(id), w.Player(id)
		b.Say(1, a.Peer(), 0, "last words")
		w.WaitIdle()
		b.Depart()
		next := w.Enter(b.ID)
		equal(w, "next", next.Take(), "refused")
		g.decide(w, true)
	})
}

// A player's leave is pending when the challenge by the player's second device ends. The second device must not take
// over the player.
func TestALeaveComesBeforeTheChallenger(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.Takeover = false }, func(w *world) {
		g, id := begun(w)
		a, b := w.Player(id), w.Player(id)
		g.Take()
		b.Say(1, a.Peer(), 0, "last words")
		w.WaitIdle()
		b.Silence()
		w.Pass(time.Second)
		next := w.Enter(b.ID)
		b.Depart()
		w.Pass(3 * time.Second)
		g.decide(w, true)
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]")
		equal(w, "next", next.Take(), "refused")
	})
}
