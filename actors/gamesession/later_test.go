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

// slow is a game whose decisions are made by the test.
type slow struct {
	game
	now      bool // decide at once
	slowGone bool // OnPlayerDisconnect is asynchronous
	pending  []*script.Pending
	asked    []string
	quiet    map[string]bool // callbacks that decide at once
}

func (g *slow) later(name string) script.Decision {
	g.asked = append(g.asked, name)
	if g.now || g.quiet[name] {
		return script.Allow
	}
	p := new(script.Pending)
	g.pending = append(g.pending, p)
	return script.Later(p)
}

// decide makes the pending decisions, in order, inside the game session's actor.
func (g *slow) decide(w *world, answers ...bool) {
	w.Helper()
	g.Session.Do(func() {
		if len(g.pending) < len(answers) {
			w.Errorf("%d questions are open, not %d", len(g.pending), len(answers))
			return
		}
		now := g.pending[:len(answers)]
		g.pending = g.pending[len(answers):]
		for i, ok := range answers {
			now[i].Decide(ok)
		}
	})
	w.WaitIdle()
}

func (g *slow) Load(s script.Session) *script.Pending {
	g.Session = s
	return g.later("load").Pending()
}
func (g *slow) OnProcessStarted([]string) script.Decision { return g.later("started") }
func (g *slow) OnStartGameSession(*messages.GameSession) script.Decision {
	return g.later("start")
}
func (g *slow) OnHealthCheck() script.Decision      { return g.later("health") }
func (g *slow) OnProcessTerminate() script.Decision { return g.later("terminate") }
func (g *slow) OnPlayerConnect(*script.ConnectMessage) script.Decision {
	return g.later("connect")
}
func (g *slow) OnPlayerDetached(messages.PeerID, string) script.Decision { return g.later("detached") }
func (g *slow) OnPlayerDisconnect(peer messages.PeerID) script.Decision {
	if !g.slowGone {
		return g.game.OnPlayerDisconnect(peer)
	}
	return g.later("disconnect")
}
func (g *slow) OnSendToPlayer(*script.Message) script.Decision { return g.later("to player") }
func (g *slow) OnSendToGroup(*script.Message) script.Decision  { return g.later("to group") }
func (g *slow) OnPlayerJoinGroup(messages.GroupID, messages.PeerID) script.Decision {
	return g.later("join")
}
func (g *slow) OnPlayerLeaveGroup(messages.GroupID, messages.PeerID) script.Decision {
	return g.later("leave")
}

func starting(names ...string) map[string]bool {
	m := map[string]bool{"started": true, "start": true, "connect": true, "terminate": true, "health": true}
	for _, n := range names {
		m[n] = true
	}
	return m
}

func terminate(w *world, g *slow, m gamesession.Terminate) {
	gamesession.Ref(g.Session).Tell(m)
	w.WaitIdle()
}

// begun returns an ACTIVE game session of a slow game.
func begun(w *world, quiet ...string) (*slow, messages.GameSessionID) {
	w.Helper()
	g := &slow{quiet: starting(quiet...)}
	id := w.Create(g)
	g.decide(w, true) // load
	status(w, id, messages.GameSessionActive)
	return g, id
}

// RT-58: each step waits for the previous decision. API-29, API-36: no player sessions can be created before the game
// session is ACTIVE.
func TestAStartThatTakesTimeIsInOrderToo(t *testing.T) {
	run(t, func(w *world) {
		g := &slow{}
		id := w.Create(g)
		for _, next := range []string{"load", "started", "start"} {
			status(w, id, messages.GameSessionActivating)
			if last := g.asked[len(g.asked)-1]; last != next {
				w.Errorf("asked %v, want %v last", g.asked, next)
			}
			_, err := w.Seats(id, "a")
			w.IsError(err, messages.InvalidGameSessionStatus)
			w.Pass(5 * time.Second)
			g.decide(w, true)
		}
		status(w, id, messages.GameSessionActive)
	})
}

// RT-60, API-29, D-205.
func TestAStartWithoutADecisionEnds(t *testing.T) {
	for i, want := range []struct {
		after time.Duration
		why   string
	}{
		{60 * time.Second, "init failed: no answer in time"},
		{10 * time.Second, "onProcessStarted did not say ready"},
		{300 * time.Second, "onStartGameSession failed"},
	} {
		run(t, func(w *world) {
			g := &slow{quiet: map[string]bool{"health": true}}
			id := w.Create(g)
			for range i {
				g.decide(w, true)
			}
			w.Pass(want.after - time.Second)
			status(w, id, messages.GameSessionActivating)
			w.Pass(time.Second)
			ended(w, id, want.why)
		})
	}
}

// D-116: a login waits up to 10 s for the game's asynchronous decision. RT-15.
func TestALoginWaitsForADecisionThatTakesTime(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w)
		g.quiet["connect"] = false
		var c [3]*actorstest.Client
		for i := range c {
			c[i] = w.Enter(w.Seat(id))
			equal(w, "before the decision", c[i].Take())
		}
		g.decide(w, true, false) // there is no decision for the third login
		if c[0].Handle.Attachment() == nil || c[1].Handle.Attachment() != nil || c[2].Handle.Attachment() != nil {
			w.Error("the first was to be let in, and no other yet")
		}
		w.Pass(10 * time.Second)
		if c[2].Handle.Attachment() != nil {
			w.Error("let in without a decision")
		}
		w.Want(c[2].ID, messages.PlayerSessionReserved, 3) // the player sessions stay reserved
	})
}

// While a decision about a player's message is pending, the player's later messages wait. Messages of other players are
// delivered. RT-36.
func TestMessagesKeepTheirOrderBehindADecisionThatTakesTime(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w, "detached")
		a, b := w.Player(id), w.Player(id)
		a.Say(1, b.Peer(), 0, "first")
		a.Say(2, messages.ServerPeer, 0, "second")
		a.Group(gamesession.JoinGroup, 5)
		a.Say(3, 0, 5, "third")
		a.Say(4, 0, all, "fourth")
		w.WaitIdle()
		b.Say(9, a.Peer(), 0, "other")
		equal(w, "b, before", b.Take())
		g.decide(w, true)
		equal(w, "b", b.Take(), "1 from 1 to player 2: first")
		equal(w, "callbacks", g.Take(), "accepted 1 of [1]", "accepted 2 of [1 2]", "message 2 from 1 to -1/0: second")
		g.decide(w, true) // about b's message
		equal(w, "a", a.Take(), "9 from 2 to player 1: other")
		g.decide(w, true) // about the join
		a.Take()
		g.decide(w, true) // about the third message
		equal(w, "a", a.Take(), "3 from 1 to group 5: third")
		equal(w, "b", b.Take())
		g.decide(w, false) // about the fourth message
		equal(w, "b", b.Take())
	})
}

// RT-36.
func TestARefusalThatTookTimeDropsTheMessage(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w)
		a, b := w.Player(id), w.Player(id)
		a.Say(1, b.Peer(), 0, "no")
		a.Say(2, 0, all, "no")
		a.Group(gamesession.JoinGroup, 5)
		a.Say(3, b.Peer(), 0, "yes")
		w.WaitIdle()
		for _, ok := range []bool{false, false, false, true} {
			g.decide(w, ok)
		}
		equal(w, "b", b.Take(), "3 from 1 to player 2: yes")
		dropped(w, counters.DropRefusedByHandler, 2)
	})
}

// The end of a connection is handled after the packets that were read from it.
func TestALeaveWaitsForTheDecisionOnTheMessageBefore(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w)
		a, b := w.Player(id), w.Player(id)
		g.Take()
		a.Say(1, b.Peer(), 0, "last words")
		w.WaitIdle()
		a.Depart()
		equal(w, "callbacks", g.Take())
		g.decide(w, true)
		equal(w, "b", b.Take(), "1 from 1 to player 2: last words")
		equal(w, "callbacks", g.Take(), "gone 1 of [1 2]")
	})
}

func TestOnPlayerDetachedMayTakeTime(t *testing.T) {
	for name, c := range map[string]struct {
		answer []bool
		want   messages.PlayerSessionStatus
	}{
		"holds":          {[]bool{true}, messages.PlayerSessionActive},
		"releases":       {[]bool{false}, messages.PlayerSessionCompleted},
		"says nothing":   {nil, messages.PlayerSessionActive},
		"is not in time": {nil, messages.PlayerSessionActive},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				g, id := begun(w)
				a := w.Player(id)
				w.Player(id)
				a.Lose()
				if name == "is not in time" {
					w.Pass(11 * time.Second)
				}
				g.decide(w, c.answer...)
				current := 2
				if c.want == messages.PlayerSessionCompleted {
					current = 1
				}
				w.Want(a.ID, c.want, current)
			})
		})
	}
}

// RT-72: messages sent before the decision arrive before the connection is closed.
func TestTheEndWaitsForOnProcessTerminate(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w)
		g.quiet["terminate"] = false
		a := w.Player(id)
		terminate(w, g, gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "told to", StatusReason: "TRIGGERED_ON_PROCESS_TERMINATE"})
		status(w, id, messages.GameSessionTerminating)
		w.Pass(time.Minute)
		g.Session.Do(func() {
			g.Session.Send(script.Outgoing{OpCode: 9, Payload: []byte("bye")}, script.ToPlayer(a.Peer()).Reliably())
		})
		g.decide(w, true)
		equal(w, "a", a.Take(), "9 from 0 to player 1: bye")
		closed(w, a, messages.CloseGameEnded)
		ended(w, id, "told to")
		assert.Equal(w, "status reason", w.Game(id).StatusReason, "TRIGGERED_ON_PROCESS_TERMINATE")
	})
}

// RT-72.
func TestOnProcessTerminateIsNotWaitedForForEver(t *testing.T) {
	for name, end := range map[string]func(w *world, g *slow){
		"grace over": func(w *world, _ *slow) { w.Pass(5 * time.Minute) },
		"forced": func(w *world, g *slow) {
			terminate(w, g, gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "told to", Force: true})
		},
		"exit":         func(w *world, g *slow) { g.Session.Do(func() { g.Session.Exit(0) }); w.WaitIdle() },
		"exit by code": func(w *world, g *slow) { g.Session.Do(func() { g.Session.Exit(3) }); w.WaitIdle() },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				g, id := begun(w)
				g.quiet["terminate"] = false
				terminate(w, g, gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "told to"})
				status(w, id, messages.GameSessionTerminating)
				end(w, g)
				ended(w, id, "told to")
			})
		})
	}
}

// RT-74.
func TestAHealthCheckWithoutAnAnswerIsABadOne(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w)
		g.quiet["health"] = false
		w.Player(id)
		w.Pass(3*time.Minute + 9*time.Second)
		status(w, id, messages.GameSessionActive)
		w.Pass(time.Second)
		ended(w, id, "unhealthy")
	})
}

// RT-53: until OnPlayerDisconnect is over, the player is in the list of players and in its groups. Messages that the
// game sends there arrive before the others are told about the leave.
func TestOnPlayerDisconnectMayTakeTime(t *testing.T) {
	run(t, func(w *world) {
		g, id := begun(w, "join")
		a, b := w.Player(id), w.Player(id)
		for _, c := range []*actorstest.Client{a, b} {
			c.Group(gamesession.JoinGroup, 5)
			a.Take()
			b.Take()
		}
		g.slowGone = true
		a.Depart()
		assert.Equal(w, "players during OnPlayerDisconnect", len(g.Peers()), 2)
		w.Want(a.ID, messages.PlayerSessionActive, 2)
		g.Session.Do(func() {
			g.Session.Send(script.Outgoing{OpCode: 9, Payload: []byte("is gone")}, script.ToPlayer(b.Peer()).Reliably())
			g.Session.Send(script.Outgoing{OpCode: 9, Payload: []byte("farewell")}, script.ToPlayer(1).Reliably()) // RT-54
		})
		g.decide(w, true)
		equal(w, "b", b.Take(), "9 from 0 to player 2: is gone", "group 5 is [2] from -1 to 2")
		assert.Equal(w, "players afterwards", len(g.Peers()), 1)
		w.Want(a.ID, messages.PlayerSessionCompleted, 1)
	})
}

func TestOnPlayerDisconnectIsNotWaitedForForEver(t *testing.T) {
	for name, end := range map[string]func(w *world, g *slow, c *actorstest.Client){
		"too late": func(w *world, _ *slow, _ *actorstest.Client) { w.Pass(11 * time.Second) },
		"the game session ends": func(w *world, g *slow, _ *actorstest.Client) {
			g.Session.Do(func() { g.Session.Exit(1) })
			w.Pass(5 * time.Second)
		},
		"the player actor crashes": func(w *world, g *slow, c *actorstest.Client) {
			for range 4 { // more often than it may restart
				w.Panics++
				gamesession.Do(g.Session, c.ID, stage.Panic{Text: "a test wants it"})
				w.WaitIdle()
			}
			g.decide(w, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				g, id := begun(w)
				a := w.Player(id)
				w.Player(id)
				g.slowGone = true
				a.Depart()
				end(w, g, a)
				assert.Equal(w, "the player session is", w.Seated(a.ID).Status, messages.PlayerSessionCompleted)
			})
		})
	}
}

// A decision that is never made delays a player by 10 s. RT-36.
func TestAGateThatNeverDecidesRefuses(t *testing.T) {
	run(t, func(w *world) {
		_, id := begun(w)
		a, b := w.Player(id), w.Player(id)
		a.Say(1, b.Peer(), 0, "first")
		a.Group(gamesession.JoinGroup, 5)
		w.WaitIdle()
		a.Lose()
		w.Pass(10 * time.Second)
		equal(w, "b", b.Take())
		w.Pass(10 * time.Second) // for the decision on the join
		w.Pass(30 * time.Second) // for the reconnect window, which starts now
		w.Want(a.ID, messages.PlayerSessionCompleted, 1)
	})
}

// A first login's connection is lost while the game decides. If the player's next login has the same payload, it
// replaces the first login, and the game is asked only once. If it has another payload, the game is asked again.
func TestALoginThatIsCutBeforeTheGatesAnswerIsLetInByItsNextTry(t *testing.T) {
	for _, c := range []struct {
		name, first, next string
		cut, same         bool
	}{
		{"cut", "me", "me", true, true},
		{"cut, and the host has not noticed", "me", "me", false, true},
		{"cut, with another payload", "me", "me again", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(w *world) {
				g, game := begun(w)
				g.quiet["connect"] = false
				id, before := w.Seat(game), len(g.asked)
				enter := func(payload string) *actorstest.Client {
					link := w.Open()
					link.LogIn(id, payload)
					w.WaitIdle()
					return link
				}
				first := enter(c.first)
				if c.cut {
					first.Lose()
				}
				next := enter(c.next)
				if reason, _ := next.Closed(); reason != 0 {
					w.Fatalf("the next try is closed with %v", reason)
				}
				if !c.same {
					g.decide(w, false) // this decision is about the replaced login and has no effect
				}
				g.decide(w, true)
				equal(w, "the next try", next.Take(), "login 1")
				if !c.cut {
					closed(w, first, messages.CloseTakenOver)
				}
				if n := len(g.asked) - before; (n == 1) != c.same {
					w.Errorf("the game was asked %v", g.asked)
				}
				w.Want(id, messages.PlayerSessionActive, 1)
			})
		})
	}
}

// Without EmptyTimeout a game session ends when its last player leaves. This also holds if another player was joining
// at that moment and is then refused.
func TestAGameSessionEndsWhenTheLastLoginIsRefused(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.EmptyTimeout = 0 }, func(w *world) {
		g := &slow{quiet: starting()}
		id := w.Create(g)
		g.decide(w, true) // load
		a := w.Player(id)
		g.quiet["connect"] = false
		b := w.Enter(w.Seat(id))
		a.Depart()
		g.decide(w, false)
		equal(w, "b", b.Take(), "refused")
		w.Pass(10 * time.Minute)
		assert.Equal(w, "nobody is in, and it is", w.Game(id).Status, messages.GameSessionTerminated)
	})
}

// If the same player logs in again, the game session does not end, because the new login follows at once.
func TestAGameSessionStaysForALoginThatComesAnew(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.EmptyTimeout = 0 }, func(w *world) {
		g := &slow{quiet: starting()}
		id := w.Create(g)
		g.decide(w, true) // load
		a := w.Player(id)
		g.quiet["connect"] = false
		seat := w.Seat(id)
		w.Open().LogIn(seat, "one")
		w.WaitIdle()
		a.Depart()
		w.Open().LogIn(seat, "two")
		w.Pass(time.Second)
		assert.Equal(w, "a login waits for the game, and the game session is", w.Game(id).Status, messages.GameSessionActive)
	})
}
