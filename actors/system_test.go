package actors_test

import (
	"context"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/messages"
	"troupe/messages/counters"
)

type world = actorstest.World

func run(t *testing.T, test func(w *world)) { t.Helper(); actorstest.Run(t, nil, test) }

func TestCloseStopsEverythingTopDown(t *testing.T) {
	run(t, func(w *world) {
		g := &actorstest.Game{}
		id := w.Create(g)
		a, away, waiting := w.Player(id), w.Player(id), w.Open()
		away.Lose()
		a.Say(1, 2, 0, "never delivered")
		w.Seat(id)
		g.Take()
		w.System.Close()
		w.System.Close()
		w.WaitIdle()
		for _, c := range []*actorstest.Client{a, waiting} {
			if r, _ := c.Closed(); r == 0 {
				w.Error("a connection is left open")
			}
		}
		actorstest.Equal(w, "callbacks", g.Take())
		assert.Equal(w, "connections", w.System.Live(counters.ActorConnection), 0)
	})
}

func TestRequestsAfterTheEndAreAnswered(t *testing.T) {
	run(t, func(w *world) {
		w.System.Close()
		ctx := context.Background()
		_, err := messages.Do(ctx, w.System, messages.CreateGameSession{})
		w.IsError(err, messages.Unavailable)
		_, err = messages.Do(ctx, w.System, messages.CreatePlayerSessions{})
		w.IsError(err, messages.Unavailable)
		_, err = messages.Do(ctx, w.System, messages.GameSessionQuery{})
		w.IsError(err, messages.Unavailable)
		_, err = messages.Do(ctx, w.System, messages.PlayerSessionQuery{})
		w.IsError(err, messages.Unavailable)
		_, err = messages.Do(ctx, w.System, messages.FleetQuery{})
		w.IsError(err, messages.Unavailable)
		assert.NoError(w, messages.Run(ctx, w.System, messages.Drain{Grace: time.Hour}))
	})
}

// RL-110, RL-23: a crash of any kind of actor does not affect other game sessions.
func TestACrashInOneGameSessionIsNotFeltInAnother(t *testing.T) {
	run(t, func(w *world) {
		good, bad := w.Create(nil), w.Create(nil)
		a, b, victim := w.Player(good), w.Player(good), w.Player(bad)
		for _, inSession := range []bool{false, true} {
			victim.Panic(inSession)
			a.Say(1, 2, 0, "still here")
			actorstest.Equal(w, "b", b.Take(), "1 from 1 to player 2: still here")
			if !inSession {
				victim = w.Enter(victim.ID)
			}
		}
		if len(w.Failure) != 0 {
			w.Errorf("the host failed: %v", w.Failure)
		}
		if d, err := messages.Do(w.Context(), w.System, messages.DepthQuery{}); err != nil || d.Registry != 0 || d.GameSessions != 0 || d.Busiest != 0 || w.System.Ready() != 0 {
			w.Errorf("%+v, %d wait; %v", d, w.System.Ready(), err)
		}
	})
}
