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
	if _, err := l.Add(messages.Ban{Player: "ann", Until: now.Add(time.Hour)}, now); err != nil {
		t.Fatal(err)
	}
	if !l.Has("ann", now) || l.Has("ann", now.Add(time.Hour)) || l.Has("bob", now) || (*List)(nil).Has("ann", now) {
		t.Error("who is banned")
	}
	now = now.Add(time.Hour)
	if len(l.All(now)) != 0 {
		t.Errorf("%v", l.All(now))
	}
	if over, err := l.Add(messages.Ban{Player: "bob", Until: now.Add(time.Hour)}, now); err != nil || len(over) != 1 || over[0] != "ann" {
		t.Errorf("%v %v", over, err)
	}
	if !l.Lift("bob") || l.Lift("bob") || l.Has("bob", now) {
		t.Error("lifted")
	}
}

func TestBansAreBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	l := New()
	for i := range Max {
		l.bans[messages.PlayerID(fmt.Sprint(i))] = messages.Ban{Player: messages.PlayerID(fmt.Sprint(i)), Until: now.Add(time.Hour)}
	}
	if _, err := l.Add(messages.Ban{Player: "one more", Until: now.Add(time.Hour)}, now); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if _, err := l.Add(messages.Ban{Player: "0", Until: now.Add(2 * time.Hour)}, now); err != nil || len(l.All(now)) != Max {
		t.Error(err)
	}
}
