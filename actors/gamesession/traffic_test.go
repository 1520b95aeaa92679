package gamesession_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

const all = messages.AllPlayers

func dropped(w *world, d counters.Drop, want int64) {
	w.Helper()
	if n := w.Count.Dropped.Get(d); n != want {
		w.Errorf("%d dropped as %v, want %d", n, d, want)
	}
}

// RT-35.
func TestTargetServerCallsOnMessageOnceAndRelaysNothing(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		g.Take()
		a.Say(7, messages.ServerPeer, all, "hi")
		a.Say(8, messages.ServerPeer, 0, "")
		equal(w, "callbacks", g.Take(), "message 7 from 1 to -1/-1: hi", "message 8 from 1 to -1/0: ")
		equal(w, "a", a.Take())
		equal(w, "b", b.Take())
	})
}

// D-137: a message with op code 0 that is not a login goes to the server only. See also RT-18.
func TestOpCodeZeroIsNeverRelayed(t *testing.T) {
	two(t, func(w *world, g *game, _ messages.GameSessionID, a, b *actorstest.Client) {
		g.Take()
		a.Say(0, 0, all, "x")
		a.Say(0, b.Peer(), 0, "y")
		equal(w, "callbacks", g.Take(), "message 0 from 1 to 0/-1: x", "message 0 from 1 to 2/0: y")
		equal(w, "b", b.Take())
	})
}

// RT-36.
func TestTargetPlayerDeliversToThatPlayerOnlyIfAllowed(t *testing.T) {
	run(t, func(w *world) {
		g := &game{ToPlayer: func(m *script.Message) bool {
			if m.OpCode == 13 {
				panic("bug in a script")
			}
			return m.OpCode != 12
		}}
		id := w.Create(g)
		a, b, c := w.Player(id), w.Player(id), w.Player(id)
		a.Say(10, b.Peer(), all, "both") // the target player takes precedence over the group
		a.Say(11, a.Peer(), 0, "self")
		a.Say(12, b.Peer(), 0, "refused")
		a.Say(13, b.Peer(), 0, "panic")
		a.Say(14, 99, 0, "nobody")
		equal(w, "a", a.Take(), "11 from 1 to player 1: self")
		equal(w, "b", b.Take(), "10 from 1 to player 2: both")
		equal(w, "c", c.Take())
		dropped(w, counters.DropRefusedByHandler, 2)
		dropped(w, counters.DropUnknownTarget, 1)
		assert.Equal(w, "the panic was not counted", w.Count.HandlerErrors.Load(), 1)
	})
}

// RT-37.
func TestGroupAllReachesEverybodyTheSenderIncluded(t *testing.T) {
	run(t, func(w *world) {
		g := &game{ToGroup: func(m *script.Message) bool { return m.OpCode != 12 }}
		id := w.Create(g)
		a, b, c := w.Player(id), w.Player(id), w.Player(id)
		waiting := w.Seat(id)
		a.Say(-500, 0, all, "hi") // RT-40: a negative op code that is not built in belongs to the game
		a.Say(12, 0, all, "refused")
		w.WaitIdle()
		for i, x := range []*actorstest.Client{a, b, c} {
			equal(w, fmt.Sprint("client ", i), x.Take(), "-500 from 1 to group -1: hi")
		}
		w.Want(waiting, messages.PlayerSessionReserved, 4)
	})
}

// RT-38.
func TestAMessageToAGroupOfOthersIsDropped(t *testing.T) {
	run(t, func(w *world) {
		g := &game{ToGroup: func(*script.Message) bool { panic("asked about a group of others") }}
		id := w.Create(g)
		a, b := w.Player(id), w.Player(id)
		b.Group(join, 5)
		b.Take()
		a.Say(1, 0, 5, "x")
		a.Say(1, 0, 6, "no such group")
		equal(w, "b", b.Take())
		dropped(w, counters.DropNotMember, 2)
	})
}

// RT-42.
func TestAMessageWithoutAValidTargetIsDropped(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(&game{})
		a := w.Player(id)
		for _, target := range [][2]int32{{0, 0}, {-2, 0}, {0, -2}, {-2147483648, -2147483648}} {
			a.Say(1, messages.PeerID(target[0]), messages.GroupID(target[1]), "x")
		}
		a.Say(2, a.Peer(), 0, "still here")
		equal(w, "a", a.Take(), "2 from 1 to player 1: still here")
		dropped(w, counters.DropNoTarget, 4)
	})
}

func TestRoutingTableOfSection10(t *testing.T) {
	const most, least = 1<<31 - 1, -1 << 31
	type to struct {
		op     int32
		player messages.PeerID
		group  messages.GroupID
	}
	for want, rows := range map[string][]to{
		"server": {{5, -1, 0}, {5, -1, -1}, {5, -1, 7}, {0, 0, 0}, {0, 3, 0}, {0, 0, -1}, {-500, -1, 0}},
		"player": {{5, 1, 0}, {5, most, -1}, {5, 2, 7}},
		"group":  {{5, 0, -1}, {5, 0, 1}, {5, 0, most}, {5, -2, 1}, {5, least, -1}},
		"nobody": {{5, 0, 0}, {5, -2, 0}, {5, 0, -2}, {5, least, least}},
	} {
		for _, r := range rows {
			if got := gamesession.Route(r.op, r.player, r.group); got != want {
				t.Errorf("op %d to %d/%d goes to %s, want %s", r.op, r.player, r.group, got, want)
			}
		}
	}
}

// RT-28, RT-23.
func TestFastMessagesGoByTheFastChannelUnlessTheyAreTooLarge(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		a, b := w.Player(id), w.Player(id)
		a.SayFast(1, b.Peer(), 0, "before")
		w.WaitIdle()
		b.Fast.Confirm()
		w.WaitIdle()
		a.SayFast(2, b.Peer(), 0, "after")
		a.SayFast(3, b.Peer(), 0, strings.Repeat("x", wire.FastPayloadMax))
		a.SayFast(4, b.Peer(), 0, strings.Repeat("x", wire.FastPayloadMax+1))
		a.Say(5, b.Peer(), 0, "reliable")
		a.SayFast(6, 0, all, "to all") // a has no confirmed fast channel
		w.WaitIdle()
		var fast, reliable []string // each channel keeps its order, but the channels do not wait for each other
		for _, s := range b.Take() {
			if s = s[:min(len(s), 7)]; strings.HasPrefix(s, "fast") {
				fast = append(fast, s)
			} else {
				reliable = append(reliable, s)
			}
		}
		equal(w, "b, fast", fast, "fast 2 ", "fast 3 ", "fast 6 ")
		equal(w, "b, reliable", reliable, "1 from ", "4 from ", "5 from ")
		equal(w, "a", a.Take(), "6 from 1 to group -1: to all")
	})
}

// An unreliable message is never kept for an absent player, no matter how large it is.
func TestFastMessagesToADetachedPlayerAreDropped(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		a, b := w.Player(id), w.Player(id)
		b.Fast.Confirm()
		b.Lose()
		if !b.Fast.Closed() {
			w.Error("the fast channel outlives its connection")
		}
		a.SayFast(1, 2, 0, "small")
		a.SayFast(2, 2, 0, strings.Repeat("x", 2000))
		a.Say(3, 2, 0, "kept")
		w.WaitIdle()
		dropped(w, counters.DropFastDetached, 2)
		equal(w, "b", w.Enter(b.ID).Take(), "login 2", "3 from 1 to player 2: kept")
	})
}

// RT-44.
func TestReliableMessagesArriveInTheOrderSent(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(&game{})
		a, b := w.Player(id), w.Player(id)
		a.Group(join, 1)
		b.Group(join, 1)
		b.Take()
		var want []string
		for i := range int32(3000) { // more than the mailbox handles in one turn
			switch i % 3 {
			case 0:
				a.Say(i+1, b.Peer(), 0, "")
				want = append(want, fmt.Sprintf("%d from 1 to player 2: ", i+1))
			case 1:
				a.Say(i+1, 0, all, "")
				want = append(want, fmt.Sprintf("%d from 1 to group -1: ", i+1))
			case 2:
				a.Say(i+1, 0, 1, "")
				want = append(want, fmt.Sprintf("%d from 1 to group 1: ", i+1))
			}
		}
		equal(w, "b", b.Take(), want...)
	})
}

// RT-57.
func TestAPingIsAnsweredOnItsChannel(t *testing.T) {
	run(t, func(w *world) {
		a := w.Player(w.Create(nil))
		a.Fast.Confirm()
		assert.NoError(w, a.Post(gamesession.Ping, 0, true, nil))
		w.WaitIdle()
		assert.NoError(w, a.Post(gamesession.Ping, 0, false, nil))
		equal(w, "a", a.Take(), "pong", "fast pong")
	})
}

// RT-69.
func TestScriptMessagesToNobodyAndTooLargeOnesAreLeftOut(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		g.Message = func(*script.Message) {
			s := g.Session
			for _, peer := range []messages.PeerID{0, -1, 2, -7} {
				s.Send(text(1), script.ToPlayer(peer))
				s.Send(text(1), script.ToPlayer(peer).Reliably())
			}
			for _, id := range []messages.GroupID{0, 3, -7} {
				s.Send(text(1), script.ToGroup(id))
				s.Send(text(1), script.ToGroup(id).Reliably())
				s.BroadcastGroupMembershipUpdate(id, all)
			}
			big := script.Outgoing{OpCode: 2, Sender: -1, Payload: make([]byte, wire.ScriptPayloadMax+1)}
			s.Send(big, script.ToPlayer(1).Reliably())
			big.Payload = make([]byte, wire.ScriptPayloadMax)
			s.Send(big, script.ToPlayer(1).Reliably())
			s.KickPlayer(9, "who")
		}
		a := w.Player(w.Create(g))
		a.Say(1, messages.ServerPeer, 0, "")
		got := a.Take()
		if len(got) != 4 || !strings.HasPrefix(got[3], "2 from -1 to player 1: ") {
			w.Errorf("%d messages", len(got))
			return
		}
		equal(w, "a", got[:3], "group 0 is [] from -1 to 1", "group 3 is [] from -1 to 1", "group -7 is [] from -1 to 1")
		dropped(w, counters.DropUnknownTarget, 8)
		dropped(w, counters.DropScriptPayload, 1)
	})
}

func TestDeliveriesThatPlayersCauseAreBounded(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.DeliveriesPerSecond = 10 }, func(w *world) {
		id := w.Create(nil)
		a, b := w.Player(id), w.Player(id)
		for range 20 {
			a.SayFast(1, b.Peer(), 0, "")
		}
		w.WaitIdle()
		assert.Equal(w, "of 20 fast messages in one moment", len(b.Take()), 10)
		for range 20 {
			a.Say(2, b.Peer(), 0, "")
		}
		w.WaitIdle()
		assert.Equal(w, "of 20 reliable messages", len(b.Take()), 20)
		w.Pass(1e9)
		a.SayFast(3, b.Peer(), 0, "")
		equal(w, "while the debt lasts", b.Take())
		w.Pass(1e9)
		a.SayFast(3, b.Peer(), 0, "")
		equal(w, "after it", b.Take(), "3 from 1 to player 2: ")
	})
}

func TestAPlayerOfAnotherGameSessionIsOutOfReach(t *testing.T) {
	run(t, func(w *world) { // RL-11
		g, h := w.Create(nil), w.Create(nil)
		a, b := w.Player(g), w.Player(h)
		b.Group(join, 4)
		b.Take()
		a.Say(1, 0, all, "x")
		a.Say(1, 0, 4, "x")
		a.Say(1, 1, 0, "x")
		equal(w, "b", b.Take())
		// Even an attachment to the wrong game session does not deliver anything.
		in := gamesession.NewInbound()
		in.From, in.Kind, in.Reliable = a.Handle.Attachment().Player, gamesession.Application, true
		in.Frame = w.Frames.Track(wire.NewFrame(&wire.Header{OpCode: 1, Sender: 1, TargetGroup: -1}))
		assert.NoError(w, in.Post(b.Handle.Attachment().Session))
		equal(w, "b", b.Take())
	})
}

func TestASlowConsumerIsClosedAndDetachedAndLosesNothing(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Session.Budget = player.Budget{BytesMax: 1 << 20, MessagesMax: 100}
	}, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, b := w.Player(id), w.Player(id)
		b.Stall(true)
		var want []string
		for i := range int32(101) {
			a.Say(i+1, b.Peer(), 0, "")
			want = append(want, fmt.Sprintf("%d from 1 to player 2: ", i+1))
			if i == 50 {
				w.WaitIdle()
				a.SayFast(999, b.Peer(), 0, "dropped from 50 % on")
			}
		}
		w.WaitIdle()
		dropped(w, counters.DropFastSlowPeer, 1)
		if reason, _ := b.Closed(); reason != messages.CloseSlowConsumer {
			w.Fatalf("closed with %v", reason)
		}
		w.Want(b.ID, messages.PlayerSessionActive, 2)
		again := w.Enter(b.ID)
		equal(w, "after the return", again.Take(), append([]string{"login 2"}, want...)...)
		dropped(w, counters.DropOutboxFull, 0)
		if calls := g.Take(); calls[len(calls)-1] != "accepted 2 of [1 2]" {
			w.Errorf("callbacks %v", calls)
		}
	})
}

// A player that reconnects within the window loses no message if one sender uses its full rate of 200 small messages
// per second.
func TestAnAbsentPlayerLosesNothingToOneBusySender(t *testing.T) {
	actorstest.Run(t, nil, func(w *world) {
		g := &game{}
		g.Back = func(messages.PeerID, script.Reconnected) {}
		id := w.Create(g)
		a, b := w.Player(id), w.Player(id)
		b.Lose()
		g.Take()
		const n = 29 * 200
		for i := range n {
			a.Say(int32(i+1), 0, messages.AllPlayers, "")
			w.Pass(time.Second / 200)
			if i%100 == 0 {
				a.Take()
			}
		}
		w.Want(b.ID, messages.PlayerSessionActive, 2)
		if got := w.Enter(b.ID).Take(); len(got) != 1+n {
			w.Errorf("%d came, not %d", len(got)-1, n)
		}
		equal(w, "callbacks", g.Take(), "back 2: {Resent:0 Lost:0 Away:29s Takeover:false}")
	})
}

// A LOGIN_RESPONSE that reports a gap may be lost. So the following ones report it too, until the player has proved
// that it has received one of them.
func TestAGapIsToldUntilThePlayerKnowsOfIt(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Session.Budget.MessagesMax = 16
	}, func(w *world) {
		g := &game{}
		g.Back = func(messages.PeerID, script.Reconnected) {}
		id := w.Create(g)
		loud, quiet := w.Player(id), w.Player(id)
		b := numbered(w, w.Seat(id), "", 0)
		token := b.LoginResult().ReconnectToken
		b.Lose()
		quiet.Say(1, 3, 0, "") // this message is kept, so the dropped messages have no numbers
		for i := range int32(40) {
			loud.Say(2+i, 3, 0, "")
			w.WaitIdle()
		}
		lost := uint64(0)
		for n := range 3 { // the player receives none of these answers
			b = numbered(w, b.ID, token, 0)
			r := b.LoginResult()
			if n == 0 {
				lost = r.Lost
			}
			if r.Outcome != wire.OutcomeReplayLost || r.Base != 0 || r.Lost != lost || lost == 0 {
				w.Errorf("login %d after the gap is answered with %+v", n+1, r)
			}
			if n < 2 {
				b.Lose()
			}
		}
		token = b.LoginResult().ReconnectToken
		b.Ack(1)
		w.WaitIdle()
		b.Lose()
		b = numbered(w, b.ID, token, 1)
		if r := b.LoginResult(); r.Outcome != wire.OutcomeResumed || r.Lost != lost {
			w.Errorf("a player that knows of the gap is answered with %+v", r)
		}
	})
}

// Messages of others never end the player session of an absent player. Messages beyond its budget are dropped, which
// leaves a gap. Messages of players that send little are kept.
func TestBusySendersCostAnAbsentPlayerMessagesAndNotThePlayerSession(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Session.Budget.MessagesMax = 80
	}, func(w *world) {
		g := &game{}
		g.Back = func(messages.PeerID, script.Reconnected) {}
		id := w.Create(g)
		loud, quiet := w.Player(id), w.Player(id)
		b := numbered(w, w.Seat(id), "", 0)
		token := b.LoginResult().ReconnectToken
		b.Lose()
		g.Take()
		for i := range int32(500) {
			if i%50 == 0 {
				quiet.Say(1000+i, 3, 0, "")
			}
			loud.Say(1, 3, 0, "")
			w.WaitIdle()
		}
		w.Want(b.ID, messages.PlayerSessionActive, 3)
		b = numbered(w, b.ID, token, 0)
		got := b.Take()
		lost := 510 - (len(got) - 1)
		if r := b.LoginResult(); r.Outcome != wire.OutcomeReplayLost || int(r.Base+r.Lost) != lost || lost < 510-80 {
			w.Errorf("%d came, LOGIN_RESPONSE says %+v", len(got)-1, r)
		}
		fromQuiet := 0
		for _, m := range got {
			if strings.Contains(m, " from 2 ") {
				fromQuiet++
			}
		}
		assert.Equal(w, "of 10 of the quiet player came", fromQuiet, 10)
		equal(w, "callbacks", g.Take(), fmt.Sprintf("back 3: {Resent:0 Lost:%d Away:0s Takeover:false}", lost))
		if n := w.Count.Lost.Load(); int(n) != lost || w.Count.Gaps.Load() != 1 {
			w.Errorf("%d are counted as lost", n)
		}
	})
}

func TestADetachedPlayerWhoseQueueIsFullLeaves(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Session.Budget = player.Budget{BytesMax: 1 << 20, MessagesMax: 100}
	}, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, b := w.Player(id), w.Player(id)
		b.Lose()
		g.Take()
		for range 100 {
			a.Say(1, 2, 0, "")
		}
		w.Want(b.ID, messages.PlayerSessionActive, 2)
		a.Say(1, 2, 0, "")
		w.Want(b.ID, messages.PlayerSessionCompleted, 1)
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]")
		refused(w, w.Enter(b.ID))
	})
}

// RL-2: if a reliable message is lost before the first attach, the player session ends at once.
func TestAPlayerThatLostAHeldMessageDoesNotGoOn(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Session.Budget = player.Budget{BytesMax: 1 << 20, MessagesMax: 8}
	}, func(w *world) {
		g := &game{}
		g.Connect = func(m *script.ConnectMessage) bool {
			for range 17 { // the budget and the reserve keep 16
				g.Session.Send(text(1), script.ToPlayer(m.Player.PeerID).Reliably())
			}
			return true
		}
		id := w.Create(g)
		c := w.Enter(w.Seat(id))
		if reason, _ := c.Closed(); reason != messages.CloseSlowConsumer {
			w.Errorf("closed with %v", reason)
		}
		w.Want(c.ID, messages.PlayerSessionCompleted, 0)
	})
}
