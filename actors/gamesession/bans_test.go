package gamesession_test

import (
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/bans"
	"troupe/actors/script"
	"troupe/messages"
)

// A player who has left, comes back, and is banned while the game is asked does not stay: until the game has answered, its player
// session is COMPLETED, and the kick that follows a ban does not find it.
func TestABanDuringARejoinEndsIt(t *testing.T) {
	banned := bans.New()
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.Bans = banned }, func(w *world) {
		g := &game{}
		a := w.Player(w.Create(g))
		a.Depart()
		g.Connect = func(*script.ConnectMessage) bool {
			banned.Put(messages.Ban{Player: "somebody", Until: time.Now().Add(time.Hour)}, nil)
			return true
		}
		w.Enter(a.ID)
		w.WaitIdle()
		w.Want(a.ID, messages.PlayerSessionCompleted, 0)
		g.Connect = nil
		refused(w, w.Enter(a.ID))
	})
}
