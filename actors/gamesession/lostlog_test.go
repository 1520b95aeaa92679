package gamesession_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/bans"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
)

// lockedBuffer is a log to which several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// about returns the messages of all log lines about a player that have a reason. It fails if a line lacks a field with
// which an operator would find the player.
func (l *lockedBuffer) about(t testing.TB, player string) (said []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var f map[string]any
		assert.NoError(t, json.Unmarshal([]byte(line), &f))
		if _, of := f["player_session"]; !of {
			continue
		}
		for _, key := range []string{"player_id", "game_session_id"} {
			if f[key] == nil {
				t.Errorf("a line without %s: %s", key, line)
			}
		}
		if reason, _ := f["reason"].(string); f["player_id"] == player {
			said = append(said, f["message"].(string)+"; "+reason)
		}
	}
	return said
}

// An operator asks why ann was thrown out. Each line about a lost player must contain the player's id and the cause.
func TestLinesAboutALostPlayerHaveItsIDAndTheCause(t *testing.T) {
	log := new(lockedBuffer)
	actorstest.Run(t, func(o *actors.Options) { o.Log = zerolog.New(log) }, func(w *world) {
		id := w.Create(&game{})
		seats := assert.Value(w.Seats(id, "ann", "bob", "eve"))(w)
		ann, bob := w.Enter(seats[0].ID), w.Enter(seats[1].ID)
		ann.Lose()
		w.Pass(windowDefault)
		w.Want(seats[0].ID, messages.PlayerSessionCompleted, 2)
		w.Enter(seats[0].ID)
		bob.Depart()
		equal(w, "ann", log.about(t, "ann"), "player detached; reset", "player lost: its player session ends; reconnect window is over", "login refused; the player session is over")
		equal(w, "bob", log.about(t, "bob")) // bob has left, which is not logged
	})
}

// The line about a removed player says who removed the player and why, even if the player is not in the game.
func TestLinesAboutARemovedPlayerSayWhoAndWhy(t *testing.T) {
	log, banned := new(lockedBuffer), bans.New()
	actorstest.Run(t, func(o *actors.Options) { o.Log, o.Fleet.Session.Bans = zerolog.New(log), banned }, func(w *world) {
		g := &game{}
		id := w.Create(g)
		seats, err := w.Seats(id, "ann", "bob", "eve", "may")
		assert.NoError(w, err)
		w.Enter(seats[0].ID)
		bob := w.Enter(seats[1].ID)
		may := w.Enter(seats[3].ID)
		kick := func(who messages.PlayerID, why string) {
			if n, err := messages.Do(w.Context(), w.System, messages.KickPlayer{GameSession: id, Player: who, Reason: why}); n != 1 || err != nil {
				w.Error(n, err)
			}
			w.WaitIdle()
		}
		kick("ann", messages.ByOperator("KEYONE", "rude"))
		equal(w, "ann", log.about(t, "ann"), "player lost: its player session ends; kicked: by an operator (KEYONE): rude")
		g.Session.Do(func() { g.Session.KickPlayer(bob.Peer(), "out of lives") })
		w.WaitIdle()
		equal(w, "bob", log.about(t, "bob"), "player lost: its player session ends; kicked: out of lives")
		kick("eve", messages.ByOperator("KEYONE", ""))
		equal(w, "eve", log.about(t, "eve"), "player removed before it was in the game: its player session ends; kicked: by an operator (KEYONE)")

		ban := messages.Ban{Player: "may", Until: time.Now().Add(time.Hour), Reason: "cheats", By: "KEYTWO"}
		banned.Put(ban, nil)
		refused(w, w.Enter(seats[3].ID))
		may.Lose()
		kick("may", ban.Cause())
		equal(w, "may", log.about(t, "may"), "login refused; banned by an operator (KEYTWO): cheats", "player detached; reset",
			"player lost: its player session ends; kicked: banned by an operator (KEYTWO): cheats")
		if n, game := w.Count.LoginsRefused.Get(counters.LoginBanned), w.Count.LoginsRefused.Get(counters.LoginByGame); n != 1 || game != 0 {
			w.Errorf("%d logins refused for a ban, %d by the game", n, game)
		}
	})
}

// An overflowing queue, a second login and a crash are logged as causes too.
func TestLinesAboutAPlayerThatTheHostCutsOffSayWhy(t *testing.T) {
	log := new(lockedBuffer)
	actorstest.Run(t, func(o *actors.Options) {
		o.Log, o.Fleet.Session.Budget = zerolog.New(log), player.Budget{BytesMax: 1 << 20, MessagesMax: 100}
	}, func(w *world) {
		g := &game{}
		seats := assert.Value(w.Seats(w.Create(g), "ann", "bob", "eve"))(w)
		ann, eve := w.Enter(seats[0].ID), w.Enter(seats[2].ID)
		w.Enter(seats[1].ID)
		w.Enter(seats[1].ID)
		equal(w, "bob", log.about(t, "bob"), "player resumed; taken_over")

		ann.Stall(true)
		g.Session.Do(func() {
			for range 300 {
				g.Session.Send(text(1), script.ToPlayer(ann.Peer()).Reliably())
			}
		})
		w.WaitIdle()
		equal(w, "ann", log.about(t, "ann"), "player detached; slow_consumer", "player lost: its player session ends; slow_consumer")

		eve.Panic(false)
		equal(w, "eve", log.about(t, "eve"), "player detached; internal_error")
	})
}
