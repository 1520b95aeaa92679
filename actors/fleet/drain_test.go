package fleet_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/stage"
	"troupe/messages"
)

// A drain waits for a reserved player session, but no longer than its reservation lasts.
func TestADrainWaitsForReservedPlayerSessions(t *testing.T) {
	run(t, func(w *world) {
		taken, left := w.Create(nil), w.Create(nil)
		seat := w.Seat(taken)
		w.Seat(left)
		done := drain(w, time.Hour)
		w.Pass(59 * time.Second)
		player := w.Enter(seat)
		w.Pass(2 * time.Second)
		assert.Equal(w, "nobody has come, and it is", w.Game(left).Status, messages.GameSessionTerminated)
		assert.Equal(w, "somebody has come, and it is", w.Game(taken).Status, messages.GameSessionActive)
		player.Depart()
		assert.Equal(w, "drained after", <-done, 61*time.Second)
	})
}

func TestACancelledDrainHasNoEffectsLeft(t *testing.T) {
	run(t, func(w *world) {
		cancel := func() error { return messages.Run(context.Background(), w.System, messages.CancelDrain{}) }
		if err := cancel(); !errors.Is(err, fleet.ErrNotDraining) {
			w.Error(err)
		}
		game, empty := w.Create(nil), w.Create(nil)
		a := w.Player(game)
		results := make(chan error, 3)
		start := func(grace time.Duration) {
			go func() { results <- messages.Run(context.Background(), w.System, messages.Drain{Grace: grace}) }()
			w.WaitIdle()
		}
		start(time.Hour)
		start(time.Minute)
		w.Pass(30 * time.Second)
		assert.NoError(w, cancel())
		for range 2 {
			if err := <-results; !errors.Is(err, fleet.ErrDrainCancelled) {
				w.Error(err)
			}
		}
		assert.Equal(w, "what has ended is", w.Game(empty).Status, messages.GameSessionTerminated)
		w.Player(w.Create(nil)) // new game sessions and player sessions can be created again
		b := w.Player(game)
		b.Depart()
		a.Depart()
		w.Pass(2 * time.Minute) // neither the old grace period nor an empty timeout ends the game session
		assert.Equal(w, "without players it is", w.Game(game).Status, messages.GameSessionActive)
		c := w.Player(game)
		start(2 * time.Second) // this drain has its own grace period
		w.Pass(2*time.Second - time.Millisecond)
		if why, _ := c.Closed(); why != 0 || len(results) > 0 {
			w.Error("ended early")
		}
		w.Pass(time.Millisecond)
		if err := cancel(); !errors.Is(err, fleet.ErrDrainTooLate) {
			w.Error(err)
		}
		assert.NoError(w, <-results)
		if err := cancel(); !errors.Is(err, fleet.ErrDrainTooLate) {
			w.Error(err)
		}
	})
}

func TestACancelledDrainLoadsScriptsUpdatedMeanwhile(t *testing.T) {
	scripted(t, nil, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		f := newFleet(w, messages.CreateFleet{ScriptID: s.ID, Runtime: processes("5 main.js")})
		game := start(w, f.ID)
		w.Player(game.ID)
		drain := make(chan error, 1)
		go func() { drain <- messages.Run(context.Background(), w.System, messages.Drain{Grace: time.Hour}) }()
		w.WaitIdle()
		assert.OK(messages.Do(context.Background(), w.System, messages.UpdateScript{ID: s.ID, Zip: archive("main.js=two")}))(w)
		assert.NoError(w, messages.Run(context.Background(), w.System, messages.CancelDrain{}))
		w.WaitIdle()
		if second := start(w, f.ID); second.ScriptVersion != "2 (1.0)" || e.last().program.text != "two" {
			w.Error(second.ScriptVersion, e.last().program.text)
		}
		if err := <-drain; !errors.Is(err, fleet.ErrDrainCancelled) {
			w.Error(err)
		}
	})
}

// RL-30: a drain waits for a player session that is being stored and for which the API is about to answer.
func TestADrainKeepsASeatThatIsBeingStored(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		h.disk.Hold()
		seats := h.seatsLater(g.ID, "p") // its commit is waiting for the disk
		later[stage.None](h, messages.Drain{Grace: time.Hour})
		h.disk.Release()
		if len(*seats) != 1 || (*seats)[0] != nil {
			h.Fatalf("answers %v", *seats)
		}
		assert.Equal(h, "the API has sold a seat, and its game session is", h.game(g.ID).Status, messages.GameSessionActive)
	})
}
