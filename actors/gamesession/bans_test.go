package gamesession_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/bans"
	"troupe/actors/script"
	"troupe/messages"
)

// A player that left is logging in again, and is banned while the game decides on the login. The player must not stay
// in the game. Until the game has decided, its player session is COMPLETED, so the kick that follows a ban does not
// find it.
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
		w.Want(a.ID, messages.PlayerSessionCompleted, 0)
		g.Connect = nil
		refused(w, w.Enter(a.ID))
	})
}

func TestABanEndsByItself(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	l := bans.New()
	l.Put(messages.Ban{Player: "ann", Until: now.Add(time.Hour)}, nil)
	if !l.Has("ann", now) || l.Has("ann", now.Add(time.Hour)) || l.Has("bob", now) || (*bans.List)(nil).Has("ann", now) {
		t.Error("who is banned")
	}
	now = now.Add(time.Hour)
	if len(l.All(now)) != 0 {
		t.Errorf("%v", l.All(now))
	}
	over, err := l.Room("bob", now)
	if err != nil || len(over) != 1 || over[0] != "ann" || !l.There("ann") {
		t.Errorf("%v %v", over, err)
	}
	l.Put(messages.Ban{Player: "bob", Until: now.Add(time.Hour)}, over)
	if l.There("ann") || !l.Has("bob", now) {
		t.Error("put")
	}
	if l.Lift("bob"); l.There("bob") || l.Has("bob", now) {
		t.Error("lifted")
	}
}

func TestBansAreBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	l := bans.New()
	for i := range bans.Max {
		l.Put(messages.Ban{Player: messages.PlayerID(fmt.Sprint(i)), Until: now.Add(time.Hour)}, nil)
	}
	if _, err := l.Room("one more", now); !errors.Is(err, bans.ErrTooMany) {
		t.Error(err)
	}
	if _, err := l.Room("0", now); err != nil {
		t.Error("the ban of somebody who has one:", err)
	}
	now = now.Add(time.Hour)
	if over, err := l.Room("one more", now); err != nil || len(over) != bans.Max {
		t.Error("all are over:", len(over), err)
	}
}
