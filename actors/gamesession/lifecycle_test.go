package gamesession_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
)

func ended(w *world, id messages.GameSessionID, why string) {
	w.Helper()
	if g := w.Game(id); g.Status != messages.GameSessionTerminated || g.EndText != why || g.Terminated.IsZero() {
		w.Errorf("%v because %q, want TERMINATED because %q", g.Status, g.EndText, why)
	}
}

func status(w *world, id messages.GameSessionID, want messages.GameSessionStatus) {
	w.Helper()
	if g := w.Game(id); g.Status != want {
		w.Errorf("%v (%s), want %v", g.Status, g.EndText, want)
	}
}

// RT-58.
func TestTheCallbacksOfTheStartComeInOrder(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		equal(w, "callbacks", g.Take(), "init", "started [one two]", "start ACTIVATING")
		status(w, id, messages.GameSessionActive)
	})
}

// RT-60.
func TestAGameThatCannotStartIsNeverActive(t *testing.T) {
	for why, g := range map[string]*game{
		"init failed: no":                          {OnInit: func(script.Session) error { return errors.New("no") }},
		"init failed: <nil>":                       {OnInit: func(script.Session) error { panic("bug") }},
		"onProcessStarted did not say ready":       {Started: func() bool { return false }},
		"onStartGameSession failed":                {Start: func(*messages.GameSession) { panic("bug") }}, // D-115
		"exited with an error code":                {},
		"exited without processEnding":             {},
		"did not exit after processEnding":         {},
		"exited":                                   {},
		"onProcessStarted did not say ready, once": {},
	} {
		t.Run(why, func(t *testing.T) {
			run(t, func(w *world) {
				switch why {
				case "exited with an error code":
					g.OnInit = func(s script.Session) error { s.Exit(1); return nil }
				case "exited without processEnding":
					g.Start = func(*messages.GameSession) { g.Session.Exit(0) }
				case "did not exit after processEnding":
					g.Started = func() bool { g.Session.ProcessEnding(); return true }
				case "exited":
					g.Start = func(*messages.GameSession) { g.Session.ProcessEnding(); g.Session.Exit(0) }
				case "onProcessStarted did not say ready, once":
					g.Started, why = func() bool { panic("bug") }, "onProcessStarted did not say ready"
				}
				id := w.Create(g)
				if why == "did not exit after processEnding" { // RL-16: the status does not return to ACTIVE
					status(w, id, messages.GameSessionTerminating)
					w.Pass(10 * time.Second)
				}
				ended(w, id, why)
				calls := g.Take()
				w.Pass(10 * time.Minute)
				equal(w, "later callbacks", g.Take())
				if why == "exited with an error code" {
					equal(w, "callbacks", calls, "init") // no callback runs after the exit
				}
			})
		})
	}
}

// RT-61.
func TestDefaultsAre32PlayersAndThreeSeconds(t *testing.T) {
	run(t, func(w *world) {
		for interval, want := range map[time.Duration]time.Duration{0: 3 * time.Second, 7 * time.Second: 7 * time.Second, -1: 3 * time.Second} {
			conf := script.Configuration{PingInterval: interval}
			c := w.Player(w.Create(&game{Conf: conf}))
			assert.Equal(w, "ping interval", c.Handle.Attachment().PingInterval, want)
		}
	})
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.PingInterval = 0 }, func(w *world) {
		assert.Equal(w, "ping interval", w.Player(w.Create(nil)).Handle.Attachment().PingInterval, 3*time.Second)
	})
}

// RT-70.
func TestProcessEndingStopsLoginsAndExitClosesEverybody(t *testing.T) {
	two(t, func(w *world, g *game, id messages.GameSessionID, a, b *actorstest.Client) {
		seat := w.Seat(id)
		g.Take()
		g.Session.Do(func() { g.Session.ProcessEnding(); g.Session.ProcessEnding() })
		w.WaitIdle()
		status(w, id, messages.GameSessionTerminating)
		refused(w, w.Enter(seat))
		a.Say(1, 2, 0, "goes on")
		equal(w, "b", b.Take(), "1 from 1 to player 2: goes on")
		b.Depart()
		equal(w, "callbacks", g.Take(), "gone 2 of [1 2]") // D-119: this callback is allowed because the game has not exited yet
		w.Pass(5 * time.Second)
		g.Session.Do(func() {
			g.Session.Send(text(9), script.ToPlayer(1).Reliably())
			g.Session.Exit(0)
			g.Session.Do(func() { t.Error("code ran after the exit") })
		})
		equal(w, "a", a.Take(), "9 from -1 to player 1: x")
		closed(w, a, messages.CloseGameEnded)
		ended(w, id, "exited")
		equal(w, "callbacks", g.Take()) // D-119
		w.Want(a.ID, messages.PlayerSessionCompleted, 0)
		w.Want(seat, messages.PlayerSessionTimedOut, 0)
	})
}

// RT-71.
func TestAGameThatDoesNotExitIsEndedAfterExactlyTenSeconds(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a := w.Player(id)
		g.Session.Do(g.Session.ProcessEnding)
		w.Pass(10*time.Second - time.Millisecond)
		status(w, id, messages.GameSessionTerminating)
		closed(w, a, 0)
		w.Pass(time.Millisecond)
		ended(w, id, "did not exit after processEnding")
		closed(w, a, messages.CloseGameEnded)
	})
}

// RT-72.
func TestWhatOnProcessTerminateSendsArrivesBeforeTheClose(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		g.End = func() {
			g.Session.Send(text(9), script.ToGroup(all).Reliably())
			g.Session.ProcessEnding() // although the game was told not to call it
		}
		id := w.Create(g)
		a := w.Player(id)
		lost := w.Player(id)
		lost.Lose()
		g.Take()
		done := make(chan error)
		go func() { done <- messages.Run(w.Context(), w.System, messages.Drain{Grace: 0}) }()
		assert.NoError(w, <-done)
		equal(w, "a", a.Take(), "9 from -1 to group -1: x")
		closed(w, a, messages.CloseGoingAway)
		equal(w, "callbacks", g.Take(), "terminate")
		ended(w, id, "host shut down")
		w.Want(lost.ID, messages.PlayerSessionCompleted, 0)
	})
}

// RT-73.
func TestAnExitWithoutProcessEndingCountsAsACrash(t *testing.T) {
	for code, why := range map[int]string{0: "exited without processEnding", 3: "exited with an error code"} {
		run(t, func(w *world) {
			g := &game{}
			g.Message = func(*script.Message) { g.Session.Exit(code); g.Session.Exit(0) }
			id := w.Create(g)
			a := w.Player(id)
			g.Take()
			a.Say(1, messages.ServerPeer, 0, "")
			a.Say(2, messages.ServerPeer, 0, "")
			equal(w, "callbacks", g.Take(), "message 1 from 1 to -1/0: ")
			closed(w, a, messages.CloseGameCrashed)
			ended(w, id, why)
		})
	}
}

// RT-74.
func TestAnUnhealthyGameIsEndedAtItsThirdAnswer(t *testing.T) {
	for name, health := range map[string]func() bool{"no": func() bool { return false }, "panic": func() bool { panic("bug") }} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				g := &game{Health: health}
				id := w.Create(g)
				g.Take()
				w.Pass(3*time.Minute - time.Millisecond)
				status(w, id, messages.GameSessionActive)
				w.Pass(time.Millisecond)
				ended(w, id, "unhealthy")
				equal(w, "callbacks", g.Take(), "health", "health", "health")
			})
		})
	}
	run(t, func(w *world) { // one positive answer resets the count
		n := 0
		id := w.Create(&game{Health: func() bool { n++; return n%3 == 0 }})
		c := w.Player(id)
		w.Pass(20 * time.Minute)
		status(w, id, messages.GameSessionActive)
		w.Want(c.ID, messages.PlayerSessionActive, 1)
	})
}

// Every callback may panic. The game session continues as if the answer were no.
func TestPanicsInCallbacksAreCountedAndCostNothingElse(t *testing.T) {
	run(t, func(w *world) {
		bug := func() { panic("bug in a script") }
		g := &game{}
		g.Accepted = func(script.Player) { bug() }
		g.Message = func(*script.Message) { bug() }
		g.ToGroup = func(*script.Message) bool { bug(); return true }
		g.Leave = func(messages.GroupID, messages.PeerID) bool { bug(); return true }
		id := w.Create(g)
		a := w.Player(id)
		a.Say(1, messages.ServerPeer, 0, "")
		a.Say(1, 0, all, "")
		a.Group(join, 1)
		a.Group(leave, 1)
		a.Say(2, 1, 0, "alive")
		g.Session.Do(bug)
		equal(w, "a", a.Take(), "group 1 is [1] from -1 to 1", "group 1 is [1] from -1 to 1", "2 from 1 to player 1: alive")
		assert.Equal(w, "errors", w.Count.HandlerErrors.Load(), 5)
		status(w, id, messages.GameSessionActive)
	})
}

func TestTimersAndTasksRunBetweenCallbacks(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		w.Create(g)
		start := time.Now()
		var order []string
		at := func(name string) func() {
			return func() { order = append(order, fmt.Sprint(name, " ", time.Since(start))) }
		}
		g.Session.Do(func() {
			g.Session.After(2*time.Second, at("second"))
			g.Session.After(time.Second, at("first"))
			never := g.Session.After(time.Second, at("never"))
			never.Stop()
			never.Stop()
			var again script.Timer
			again = g.Session.After(3*time.Second, func() {
				if at("again")(); len(order) < 4 {
					again.Reset(time.Second)
				}
			})
			again.Reset(4 * time.Second)
		})
		w.Pass(time.Minute)
		equal(w, "timers", order, "first 1s", "second 2s", "again 4s", "again 5s")
	})
}

func TestAnEmptyGameSessionEndsAfterItsTimeout(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		w.Pass(5*time.Minute - time.Millisecond)
		status(w, id, messages.GameSessionActive)
		w.Pass(time.Millisecond)
		ended(w, id, "no players")
	})
	strict(t, func(w *world) { // a player restarts the timeout, and a reserved player session extends it
		id := w.Create(nil)
		a := w.Player(id)
		w.Pass(20 * time.Minute)
		a.Depart()
		w.Pass(5*time.Minute - time.Millisecond)
		w.Seat(id)
		w.Pass(time.Millisecond)
		status(w, id, messages.GameSessionActive)
		w.Pass(5 * time.Minute)
		ended(w, id, "no players")
	})
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.EmptyTimeout = -1 }, func(w *world) {
		id := w.Create(nil)
		w.Player(id).Depart()
		w.Pass(2 * time.Hour)
		status(w, id, messages.GameSessionActive)
	})
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.EmptyTimeout = 0 }, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, b := w.Player(id), w.Player(id)
		a.Depart()
		b.Lose()
		w.Pass(windowDefault - time.Millisecond)
		status(w, id, messages.GameSessionActive)
		w.Pass(time.Millisecond)
		ended(w, id, "last player left")
	})
}

// The game session also ends if its last player leaves because the player's actor crashed too often.
func TestTheLastPlayersCrashesEndAGameSessionThatDoesNotOutliveIt(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.EmptyTimeout = 0 }, func(w *world) {
		id := w.Create(nil)
		c := w.Player(id)
		for range 3 {
			c.Panic(false)
			c = w.Enter(c.ID)
		}
		c.Panic(false)
		ended(w, id, "last player left")
	})
}

// D-119, RL-13: a player that is still leaving when the game exits is not reported to the game.
func TestNoCallbackRunsOnceTheGameHasExited(t *testing.T) {
	two(t, func(w *world, g *game, id messages.GameSessionID, a, b *actorstest.Client) {
		joining := w.Open()
		seat := w.Seat(id)
		g.Take()
		g.Connect = func(*script.ConnectMessage) bool { g.Session.Exit(1); return true }
		joining.LogIn(seat, "")
		a.Handle.Ended(true, "left")
		b.Handle.Ended(false, "reset")
		w.WaitIdle()
		ended(w, id, "exited with an error code")
		calls := g.Take()
		for i, call := range calls {
			if call == "connect 3" && i != len(calls)-1 {
				w.Errorf("callbacks %v", calls)
			}
		}
		for k := counters.PlayerReserved; k <= counters.PlayerLeaving; k++ {
			if n := w.Count.Players.Get(k); n != 0 {
				w.Errorf("%d players are %v", n, k)
			}
		}
	})
}

// The player is leaving when the game exits in the same callback.
func TestALeaveThatTheExitOvertakesIsNotReported(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a := w.Player(id)
		g.Take()
		g.Session.Do(func() {
			g.Session.KickPlayer(1, "rude")
			g.Session.ProcessEnding()
			g.Session.Exit(0)
		})
		equal(w, "callbacks", g.Take())
		ended(w, id, "exited")
		w.Want(a.ID, messages.PlayerSessionCompleted, 0)
	})
}

// RL-16, seen through the API: statuses only advance.
func TestStatusesNeverStepBack(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		c := w.Player(id)
		last, lastPlayer := messages.GameSessionActivating, messages.PlayerSessionReserved
		look := func() {
			s, p := w.Game(id).Status, w.Seated(c.ID).Status
			if s < last || p < lastPlayer {
				w.Errorf("%v after %v, %v after %v", s, last, p, lastPlayer)
			}
			last, lastPlayer = s, p
		}
		look()
		c.Lose()
		look()
		c = w.Enter(c.ID)
		look()
		g.Session.Do(g.Session.ProcessEnding)
		w.WaitIdle()
		look()
		c.Panic(false)
		look()
		w.Pass(10 * time.Second)
		look()
		w.Pass(time.Hour)
		look()
		if last != messages.GameSessionTerminated || lastPlayer != messages.PlayerSessionCompleted {
			w.Errorf("%v, %v", last, lastPlayer)
		}
	})
}

func TestHealthChecksOfAHostComeTogether(t *testing.T) {
	run(t, func(w *world) {
		began := time.Now()
		var mu sync.Mutex // the game sessions are on several shards
		var at []time.Duration
		for range 3 {
			w.Create(&game{Health: func() bool {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(began))
				return true
			}})
			w.Pass(49 * time.Millisecond)
		}
		w.Pass(2*time.Minute - 147*time.Millisecond)
		const minute = time.Minute
		equal(w, "health checks", at, minute, minute, minute, 2*minute, 2*minute, 2*minute)
	})
}

// After the host was suspended, each game session keeps its own moment of the minute, so they do not all check at once. Only a clock
// that was set gives it another one.
func TestHealthChecksAfterASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * time.Millisecond)
		const minute = time.Minute
		for _, c := range []struct{ late, want time.Duration }{
			{0, minute}, {time.Second, 59 * time.Second}, {minute, minute}, {5*minute + 17300*time.Millisecond, 42700 * time.Millisecond},
			{59*minute + 59*time.Second, time.Second}, {-30 * time.Second, 30 * time.Second},
			{2 * time.Hour, minute - 30*time.Millisecond}, {-2 * minute, minute - 30*time.Millisecond},
		} {
			assert.Equal(t, c.late.String()+" late", gamesession.UntilHealthCheck(time.Now().Add(-c.late)), c.want)
		}
	})
}

// A game session in which nothing happens has no timer but those of the health check and of EmptyTimeout.
func TestAnIdleGameSessionHasNoOtherTimer(t *testing.T) {
	for timeout, timers := range map[time.Duration]int{-1: 1, time.Hour: 2} {
		actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.EmptyTimeout = timeout }, func(w *world) {
			g := &game{}
			id := w.Create(g)
			armed := func(when string, want int) {
				t.Helper()
				w.WaitIdle()
				n := 0
				g.Session.Do(func() { n = gamesession.Timers(g.Session) })
				w.WaitIdle()
				assert.Equal(w, "timers "+when, n, want)
			}
			armed("at first", timers)
			p := w.Player(id)
			p.Say(7, messages.ServerPeer, 0, "hi")
			w.Pass(time.Second) // acks are sent
			armed("with a player", timers)
			p.Depart()
			armed("after the player has left", timers)
			g.Take()
			w.Pass(10 * time.Minute)
			equal(w, "callbacks", g.Take(), slices.Repeat([]string{"health"}, 10)...)
			armed("later", timers)
		})
	}
}
