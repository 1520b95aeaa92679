package fleet_test

import (
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/messages"
)

// starts is a game that decides on OnStartGameSession, Troupe's ActivateGameSession, when
// the test says so.
type starts struct {
	game
	decision script.Pending
}

func (s *starts) OnStartGameSession(*messages.GameSession) script.Decision {
	return script.Later(&s.decision)
}

// API-29.
func TestOnlyTheGameMakesItsGameSessionActive(t *testing.T) {
	run(t, func(w *world) {
		s := &starts{}
		id := w.Create(s)
		w.Pass(299 * time.Second)
		want(w, w.Game(id), messages.GameSessionActivating, "")
		_, err := w.Seats(id, "a")
		w.IsError(err, messages.InvalidGameSessionStatus)
		s.Session.Do(func() { s.decision.Decide(true) })
		want(w, w.Game(id), messages.GameSessionActive, "")

		slow := &starts{}
		id = w.Create(slow)
		w.Pass(301 * time.Second)
		g := w.Game(id)
		want(w, g, messages.GameSessionTerminated, "")
		if took := g.Terminated.Sub(g.Created); took < 300*time.Second || took > 301*time.Second {
			w.Errorf("given up after %v", took)
		}
	})
}

// API-33.
func TestForcedTerminationEndsAtOnceWithItsReason(t *testing.T) {
	run(t, func(w *world) {
		p := &ponders{}
		id := w.Create(p)
		seat := w.Seat(id)
		w.Enter(seat)
		g, err := terminate(w, id, true)
		assert.NoError(w, err)
		want(w, g, messages.GameSessionTerminating, "")
		want(w, w.Game(id), messages.GameSessionTerminated, "FORCE_TERMINATED")
		w.Want(seat, messages.PlayerSessionCompleted, 0)
		_, err = terminate(w, id, true)
		w.IsError(err, messages.InvalidGameSessionStatus)
	})
}

// API-39.
func TestACompletedPlayerSessionIsNotAcceptedButANewOneIs(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.Rejoin = false }, func(w *world) {
		id := w.Create(nil)
		first, err := w.Seats(id, "alice")
		assert.NoError(w, err)
		w.Enter(first[0].ID).Depart()
		w.Want(first[0].ID, messages.PlayerSessionCompleted, 0)
		if got := w.Enter(first[0].ID).Take(); len(got) != 1 || got[0] != "refused" {
			w.Errorf("the second login: %v", got)
		}
		w.Want(first[0].ID, messages.PlayerSessionCompleted, 0)
		second, err := w.Seats(id, "alice")
		assert.NoError(w, err)
		w.Enter(second[0].ID)
		w.Want(second[0].ID, messages.PlayerSessionActive, 1)
	})
}

// A game session without players ends after the empty timeout (default 300 s), counted from
// its start or from the last leave. With 0 it ends when the last player leaves, as O3DE
// expects.
func TestEmptyGameSessionsEnd(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		w.Pass(299 * time.Second)
		want(w, w.Game(id), messages.GameSessionActive, "")
		w.Pass(time.Second)
		want(w, w.Game(id), messages.GameSessionTerminated, "")

		id = w.Create(nil)
		c := w.Player(id)
		w.Pass(10 * time.Minute)
		c.Depart()
		w.Pass(299 * time.Second)
		want(w, w.Game(id), messages.GameSessionActive, "")
		w.Pass(2 * time.Second)
		want(w, w.Game(id), messages.GameSessionTerminated, "")
	})
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.EmptyTimeout = 0 }, func(w *world) {
		id := w.Create(nil)
		c := w.Player(id)
		w.Pass(time.Hour)
		c.Depart()
		want(w, w.Game(id), messages.GameSessionTerminated, "")
	})
}
