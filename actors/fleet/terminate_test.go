package fleet_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/actors/sessionlog"
	"troupe/messages"
)

// ponders is a game whose decision on OnProcessTerminate is made by the test.
type ponders struct {
	game
	decision script.Pending
}

func (p *ponders) OnProcessTerminate() script.Decision {
	p.game.OnProcessTerminate()
	return script.Later(&p.decision)
}

func terminate(w *world, id messages.GameSessionID, force bool) (*messages.GameSession, error) {
	w.Helper()
	return messages.Do(context.Background(), w.System, messages.TerminateGameSession{GameSessionID: id, Force: force})
}

func want(w *world, g *messages.GameSession, status messages.GameSessionStatus, reason string) {
	w.Helper()
	if g == nil || g.Status != status || g.StatusReason != reason || g.Terminated.IsZero() != (status != messages.GameSessionTerminated) {
		w.Errorf("%+v, want %v %q", g, status, reason)
	}
}

// API-32.
func TestTerminateTriggersOnProcessTerminate(t *testing.T) {
	run(t, func(w *world) {
		p := &ponders{}
		id := w.Create(p)
		seat := w.Seat(id)
		c := w.Enter(seat)
		g := assert.Value(terminate(w, id, false))(w)
		want(w, g, messages.GameSessionTerminating, "")
		w.Pass(time.Minute)
		want(w, w.Game(id), messages.GameSessionTerminating, "")
		if reason, _ := c.Closed(); reason != 0 {
			w.Errorf("the player is closed with %v while the game still thinks", reason)
		}
		again, err := terminate(w, id, false)
		assert.NoError(w, err)
		want(w, again, messages.GameSessionTerminating, "")
		if _, err = w.Seats(id, "late"); err == nil {
			w.Error("a game session that is TERMINATING takes players")
		}
		p.Session.Do(func() { p.decision.Decide(true) })
		want(w, w.Game(id), messages.GameSessionTerminated, "TRIGGERED_ON_PROCESS_TERMINATE")
		w.Want(seat, messages.PlayerSessionCompleted, 0)
		_, err = terminate(w, id, false)
		w.IsError(err, messages.InvalidGameSessionStatus)
		_, err = terminate(w, id, true)
		w.IsError(err, messages.InvalidGameSessionStatus)
		_, err = terminate(w, id+"x", true)
		w.IsError(err, messages.NotFound)
	})
}

// API-32, API-33: OnProcessTerminate is not called.
func TestForcedTerminationEndsAtOnceWithItsReason(t *testing.T) {
	run(t, func(w *world) {
		p := &ponders{}
		id := w.Create(p)
		seat := w.Seat(id)
		w.Enter(seat)
		p.Take()
		g := assert.Value(terminate(w, id, true))(w)
		want(w, g, messages.GameSessionTerminating, "")
		want(w, w.Game(id), messages.GameSessionTerminated, "FORCE_TERMINATED")
		actorstest.Equal(w, "callbacks", p.Take())
		w.Want(seat, messages.PlayerSessionCompleted, 0)
		_, err := terminate(w, id, true)
		w.IsError(err, messages.InvalidGameSessionStatus)
	})
}

// A status that the API has shown never goes back (RL-16), even if the game session is busy and has not received the
// request yet.
func TestTerminatingIsShownAtOnce(t *testing.T) {
	run(t, func(w *world) {
		p, busy := &ponders{}, make(chan struct{})
		id := w.Create(p)
		p.Session.Do(func() { <-busy })
		assert.OK(terminate(w, id, false))(w)
		want(w, w.Game(id), messages.GameSessionTerminating, "")
		p.Session.Do(func() { p.Session.Exit(1) }) // before the game session receives the termination
		list := sessions(w, messages.FindGameSessions{FleetID: actorstest.Fleet})
		want(w, list[0], messages.GameSessionTerminating, "")
		close(busy)
		want(w, w.Game(id), messages.GameSessionTerminated, "TRIGGERED_ON_PROCESS_TERMINATE")
	})
}

func TestGameSessionsHaveLogsOfTheirOwn(t *testing.T) {
	var logs *sessionlog.Store
	actorstest.Run(t, func(o *actors.Options) {
		var err error
		if logs, err = sessionlog.Open(t.TempDir(), sessionlog.Options{}); err != nil {
			t.Fatal(err)
		}
		o.Fleet.OpenLog = func(id messages.GameSessionID, f *messages.Fleet) script.Sink {
			assert.Equal(t, "fleet", f.ID, actorstest.Fleet)
			return logs.Open(id)
		}
	}, func(w *world) {
		defer logs.Close()
		g := &game{}
		id, other := w.Create(g), w.Create(&game{})
		g.Session.Do(func() { g.Session.Logger().Warn("hello"); g.Session.Logger().Debug("below the threshold") })
		end(w, g)
		w.Pass(time.Second)
		text := readLog(w, logs, id)
		if !strings.Contains(text, "[WARN] (terminate_test.go)") || !strings.Contains(text, ": hello\n") || strings.Contains(text, "threshold") || !strings.Contains(text, "ended: exited") {
			w.Errorf("%q", text)
		}
		if logs.Has(other) && strings.Contains(readLog(w, logs, other), "hello") {
			w.Error("two game sessions share a log")
		}
	})
}

func readLog(w *world, s *sessionlog.Store, id messages.GameSessionID) string {
	w.Helper()
	r := assert.Value(s.Read(id))(w)
	defer r.Close()
	text := assert.Value(io.ReadAll(r))(w)
	return string(text)
}
