package bans

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"troupe/messages"
)

func TestABanEndsByItself(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	l := New()
	l.Put(messages.Ban{Player: "ann", Until: now.Add(time.Hour)}, nil)
	if !l.Has("ann", now) || l.Has("ann", now.Add(time.Hour)) || l.Has("bob", now) || (*List)(nil).Has("ann", now) {
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
	l := New()
	for i := range Max {
		l.bans[messages.PlayerID(fmt.Sprint(i))] = messages.Ban{Player: messages.PlayerID(fmt.Sprint(i)), Until: now.Add(time.Hour)}
	}
	if _, err := l.Room("one more", now); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if _, err := l.Room("0", now); err != nil {
		t.Error("the ban of somebody who has one:", err)
	}
	now = now.Add(time.Hour)
	if over, err := l.Room("one more", now); err != nil || len(over) != Max {
		t.Error("all are over:", len(over), err)
	}
}
