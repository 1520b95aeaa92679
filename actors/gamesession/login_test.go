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
)

type (
	world = actorstest.World
	game  = actorstest.Game
)

const (
	application = gamesession.Application
	join        = gamesession.JoinGroup
	leave       = gamesession.LeaveGroup
	request     = gamesession.RequestMembership
)

func run(t *testing.T, test func(w *world)) { t.Helper(); actorstest.Run(t, nil, test) }

// two runs a test with two players in one game session.
func two(t *testing.T, test func(w *world, g *game, id messages.GameSessionID, a, b *actorstest.Client)) {
	t.Helper()
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		test(w, g, id, w.Player(id), w.Player(id))
	})
}

func strict(t *testing.T, test func(w *world)) {
	t.Helper()
	actorstest.Run(t, actorstest.Strict, test)
}

func equal[E comparable](w *world, what string, got []E, want ...E) {
	w.Helper()
	actorstest.Equal(w, what, got, want...)
}

// refused fails unless the login was refused and the connection was closed normally.
func refused(w *world, c *actorstest.Client) {
	w.Helper()
	equal(w, "answer", c.Take(), "refused")
	if reason, _ := c.Closed(); reason != messages.CloseNormal {
		w.Errorf("closed with %v", reason)
	}
	if c.Handle.Attachment() != nil {
		w.Error("a refused connection serves a player")
	}
}

func text(op int32) script.Outgoing {
	return script.Outgoing{OpCode: op, Sender: messages.ServerPeer, Payload: []byte("x")}
}

// RT-11, RT-19.
func TestLoginResponseIsFirstThenWhatTheGameSendsInItsCallbacks(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		g.Connect = func(m *script.ConnectMessage) bool { // D-121: messages are held until the player is accepted
			g.Session.Send(text(1), script.ToPlayer(m.Player.PeerID).Reliably())
			g.Session.Send(text(2), script.ToPlayer(m.Player.PeerID))
			g.Session.Send(text(99), script.ToGroup(messages.AllPlayers).Reliably()) // the player is not yet in the group
			return true
		}
		g.Accepted = func(p script.Player) {
			g.Session.Send(text(3), script.ToPlayer(p.PeerID)) // RT-68: there is no fast channel yet
			g.Session.Send(text(4), script.ToGroup(messages.AllPlayers).Reliably())
		}
		c := w.Enter(w.Seat(w.Create(g)))
		equal(w, "received", c.Take(), "login 1", "1 from -1 to player 1: x", "2 from -1 to player 1: x",
			"3 from -1 to player 1: x", "4 from -1 to group -1: x")
		equal(w, "callbacks", g.Take(), "init", "started [one two]", "start ACTIVATING", "connect 1", "accepted 1 of [1]")
		w.Want(c.ID, messages.PlayerSessionActive, 1)
	})
}

// RT-13.
func TestPeerIDsCountFromOneAndAreNeverReused(t *testing.T) {
	strict(t, func(w *world) {
		id := w.Create(nil)
		a, b := w.Player(id), w.Player(id)
		if a.Peer() != 1 || b.Peer() != 2 {
			w.Errorf("peers %d and %d", a.Peer(), b.Peer())
		}
		b.Lose()
		if c := w.Player(id); c.Peer() != 3 {
			w.Errorf("the next peer is %d", c.Peer())
		}
	})
}

// D-128: other players never see the peer id of a refused login, even if the next login is already waiting. RT-13.
func TestARefusedLoginUsesUpNoPeerID(t *testing.T) {
	run(t, func(w *world) {
		g := &game{Connect: func(m *script.ConnectMessage) bool { return string(m.Payload) == "please" }}
		id := w.Create(g)
		first, second, third := w.Open(), w.Open(), w.Open()
		seats := []messages.PlayerSessionID{w.Seat(id), w.Seat(id), w.Seat(id)}
		first.LogIn(seats[0], "no")
		second.LogIn(seats[1], "nor this")
		third.LogIn(seats[2], "please")
		refused(w, first)
		refused(w, second)
		equal(w, "third", third.Take(), "login 1")
	})
}

// RT-14.
func TestUnknownExpiredAndUsedPlayerSessionsAreRefused(t *testing.T) {
	strict(t, func(w *world) {
		id := w.Create(nil)
		refused(w, w.Enter("psess-00000000-0000-0000-0000-000000000000"))

		late := w.Seat(id)
		w.Pass(player.ReservationTime)
		refused(w, w.Enter(late))

		used := w.Player(id)
		refused(w, w.Enter(used.ID)) // the player session is in use
		if used.Handle.Attachment() == nil {
			w.Error("a refused second login cut the first")
		}
		used.Lose()
		refused(w, w.Enter(used.ID)) // the player session is COMPLETED
		w.Want(used.ID, messages.PlayerSessionCompleted, 0)
	})
}

// RT-15, D-104.
func TestAGateThatSaysNoOrPanicsLeavesTheReservation(t *testing.T) {
	for name, gate := range map[string]func(*script.ConnectMessage) bool{
		"no":    func(*script.ConnectMessage) bool { return false },
		"panic": func(*script.ConnectMessage) bool { panic("bug in a script") },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				g := &game{}
				refuse := true
				g.Connect = func(m *script.ConnectMessage) bool {
					g.Session.Send(text(1), script.ToPlayer(m.Player.PeerID).Reliably()) // D-121: not delivered if the login is refused
					return !refuse || gate(m)
				}
				id := w.Create(g)
				g.Take()
				seat := w.Seat(id)
				refused(w, w.Enter(seat))
				w.Want(seat, messages.PlayerSessionReserved, 1)
				equal(w, "callbacks", g.Take(), "connect 1")

				refuse = false
				c := w.Enter(seat)
				equal(w, "second try", c.Take(), "login 1", "1 from -1 to player 1: x")
				equal(w, "callbacks", g.Take(), "connect 1", "accepted 1 of [1]")
			})
		})
	}
}

// RT-16.
func TestTheLowerOfBothMaximaHolds(t *testing.T) {
	for name, test := range map[string]struct {
		script, session, want int
		handler               bool
	}{
		"script":                {script: 2, session: 9, want: 2, handler: true},
		"game session":          {script: 9, session: 2, want: 2, handler: true},
		"default of 32 (D-134)": {script: 0, session: 40, want: 32, handler: true},
		"below one (D-134)":     {script: -1, session: 40, want: 32, handler: true},
		"relay has no own":      {session: 40, want: 40},
		"nobody is let in at 0": {session: 0, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			strict(t, func(w *world) {
				var h script.Handler
				if test.handler {
					h = &game{Conf: script.Configuration{MaxPlayers: test.script}}
				}
				made, err := w.Try(messages.CreateGameSession{FleetID: actorstest.Fleet, MaxPlayers: test.session}, h)
				assert.NoError(w, err)
				var in []*actorstest.Client
				for range test.want {
					in = append(in, w.Player(made.ID))
				}
				if test.want == test.session { // no more player sessions can be created
					_, err := w.Seats(made.ID, "one more")
					w.IsError(err, messages.GameSessionFull)
					return
				}
				seat := w.Seat(made.ID)
				refused(w, w.Enter(seat))
				in[0].Depart()
				equal(w, "after one left", w.Enter(seat).Take(), fmt.Sprintf("login %d", test.want+1))
			})
		})
	}
}

// RL-15: two concurrent logins when only one more player fits. RT-16.
func TestOfTwoLoginsAtOnceTheLastFreePlaceGoesToOne(t *testing.T) {
	run(t, func(w *world) {
		g := &game{Conf: script.Configuration{MaxPlayers: 1}}
		id := w.Create(g)
		a, b := w.Open(), w.Open()
		first, second := w.Seat(id), w.Seat(id)
		g.Session.Do(func() { time.Sleep(time.Second) }) // so that both logins are waiting in the mailbox
		a.LogIn(first, "")
		b.LogIn(second, "")
		w.Pass(2 * time.Second)
		answers := append(a.Take(), b.Take()...)
		if !(answers[0] == "login 1" && answers[1] == "refused" || answers[0] == "refused" && answers[1] == "login 1") {
			w.Errorf("answers %v", answers)
		}
	})
}

// RT-17.
func TestTheConnectionPayloadAndThePlayerReachTheGate(t *testing.T) {
	run(t, func(w *world) {
		var got script.ConnectMessage
		asked := 0
		g := &game{Connect: func(m *script.ConnectMessage) bool { got, asked = *m, asked+1; return true }}
		id := w.Create(g)
		seats := assert.Value(w.Seats(id, "alice"))(w)
		c := w.Open()
		c.LogIn(seats[0].ID, "\x00\xff any bytes")
		w.WaitIdle()
		want := script.Player{PeerID: 1, PlayerSessionID: seats[0].ID, PlayerID: "alice", PlayerData: "data of alice"}
		if got.Player != want || string(got.Payload) != "\x00\xff any bytes" {
			w.Errorf("the gate saw %+v", got)
		}
		assert.Equal(w, "the gate was asked times about one login", asked, 1)
	})
}

// API-36.
func TestPlayerSessionsAreCreatedInAnActiveGameSessionOnly(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		g.Session.Do(g.Session.ProcessEnding)
		w.WaitIdle()
		_, err := w.Seats(id, "a")
		w.IsError(err, messages.InvalidGameSessionStatus)
		w.Pass(time.Minute)
		_, err = w.Seats(id, "a")
		w.IsError(err, messages.InvalidGameSessionStatus)
		_, err = w.Seats("arn:nowhere", "a")
		w.IsError(err, messages.NotFound)
	})
}

// API-37.
func TestPlayerSessionsAreCreatedAllOrNone(t *testing.T) {
	run(t, func(w *world) {
		made, _ := w.Try(messages.CreateGameSession{FleetID: actorstest.Fleet, MaxPlayers: 3}, nil)
		assert.OK(w.Seats(made.ID, "a", "b"))(w)
		_, err := w.Seats(made.ID, "c", "d")
		w.IsError(err, messages.GameSessionFull)
		assert.Equal(w, "player sessions created", w.Game(made.ID).CurrentPlayers, 2)
		seats := assert.Value(w.Seats(made.ID, "a"))(w) // D-216: the same player may get another player session
		p := seats[0]
		if p.Status != messages.PlayerSessionReserved || p.PlayerData != "data of a" || p.IPAddress != "192.0.2.1" || p.Port != 1900 ||
			p.FleetID != actorstest.Fleet || p.GameSessionID != made.ID || p.Created.IsZero() || !strings.HasPrefix(string(p.ID), "psess-") {
			w.Errorf("player session %+v", p)
		}
	})
}

// API-38.
func TestAReservationEndsAfterExactly60SecondsAndNoLongerCounts(t *testing.T) {
	run(t, func(w *world) {
		made, _ := w.Try(messages.CreateGameSession{FleetID: actorstest.Fleet, MaxPlayers: 1}, nil)
		seat := w.Seat(made.ID)
		w.Pass(time.Minute - time.Millisecond)
		w.Want(seat, messages.PlayerSessionReserved, 1)
		w.Pass(time.Millisecond)
		w.Want(seat, messages.PlayerSessionTimedOut, 0)
		w.Player(made.ID)
	})
}

// A refused login does not stop the reservation timer. API-38.
func TestARefusedLoginDoesNotProlongTheReservation(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(&game{Connect: func(*script.ConnectMessage) bool { return false }})
		seat := w.Seat(id)
		w.Pass(40 * time.Second)
		refused(w, w.Enter(seat))
		w.Pass(20 * time.Second)
		w.Want(seat, messages.PlayerSessionTimedOut, 0)
	})
}

func TestAConnectionThatIsGoneWhenTheGateHasDecidedIsNotAccepted(t *testing.T) {
	run(t, func(w *world) {
		var c *actorstest.Client
		g := &game{}
		g.Connect = func(*script.ConnectMessage) bool { c.Handle.Ended(false, "reset"); return true }
		id := w.Create(g)
		g.Take()
		seat := w.Seat(id)
		c = w.Open()
		c.LogIn(seat, "")
		equal(w, "callbacks", g.Take(), "connect 1")
		w.Want(seat, messages.PlayerSessionReserved, 1)
		g.Connect = nil
		equal(w, "again", w.Enter(seat).Take(), "login 1")
	})
}

func TestFinishedPlayerSessionsAreForgottenFromAThousandOn(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.ReconnectWindow = 0 }, func(w *world) {
		id := w.Create(nil)
		first := w.Player(id)
		first.Depart()
		for range 1100 {
			w.Player(id).Depart()
		}
		refused(w, w.Enter(first.ID))
		assert.Equal(w, "players", w.Game(id).CurrentPlayers, 0)
		stays := w.Player(id)
		w.Want(stays.ID, messages.PlayerSessionActive, 1)
	})
}
