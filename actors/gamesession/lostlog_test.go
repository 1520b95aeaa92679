package gamesession_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/messages"
)

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// about returns the messages of the lines with a reason that are about a player, and fails if one lacks what
// an operator needs to find the player.
func (l *lockedBuffer) about(t testing.TB, player string) (said []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var f map[string]any
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
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

// "Why was ann thrown out": each line about a lost player has its id and the cause.
func TestLinesAboutALostPlayerHaveItsIDAndTheCause(t *testing.T) {
	log := new(lockedBuffer)
	actorstest.Run(t, func(o *actors.Options) { o.Log = zerolog.New(log) }, func(w *world) {
		id := w.Create(&game{})
		seats, err := w.Seats(id, "ann", "bob", "eve")
		if err != nil {
			w.Fatal(err)
		}
		ann, bob := w.Enter(seats[0].ID), w.Enter(seats[1].ID)
		ann.Lose()
		w.Pass(windowDefault)
		w.Want(seats[0].ID, messages.PlayerSessionCompleted, 2)
		w.Enter(seats[0].ID)
		bob.Depart()
		equal(w, "ann", log.about(t, "ann"), "player detached; reset", "player lost: its player session ends; reconnect window is over", "login refused; the player session is over")
		equal(w, "bob", log.about(t, "bob")) // has left
	})
}
