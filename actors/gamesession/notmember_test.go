package gamesession_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
)

// linesOf records the lines in the logs of game sessions.
type linesOf struct {
	mu    sync.Mutex
	lines []string
}

func (l *linesOf) Write(line script.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line.File+" "+line.Level.String()+" "+line.Text)
}
func (l *linesOf) Close() {}

func (l *linesOf) with(word string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return found
}

// If a player sends a message to a group of which it is not a member, the message is dropped. The game session's log
// reports this once per player and group.
func TestAMessageToAGroupOfOthersIsLoggedOnce(t *testing.T) {
	var log linesOf
	change := func(o *actors.Options) {
		o.Fleet.OpenLog = func(messages.GameSessionID, *messages.Fleet) script.Sink { return &log }
	}
	actorstest.Run(t, change, func(w *world) {
		id := w.Create(&game{})
		a, b := w.Player(id), w.Player(id)
		b.Group(join, 7)
		w.WaitIdle()
		for range 3 {
			a.Say(5, 0, 7, "x")
			b.Say(5, 0, 7, "x")
		}
		a.Say(5, 0, 8, "x")
		w.WaitIdle()
		want := []string{
			fmt.Sprintf("host WARN player %d sends messages to group 7, which it is not in: they reach nobody", a.Peer()),
			fmt.Sprintf("host WARN player %d sends messages to group 8, which it is not in: they reach nobody", a.Peer()),
		}
		if got := log.with("reach nobody"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		dropped(w, counters.DropNotMember, 4)
		for group := range int32(500) { // the memory and the number of log lines per player are limited
			a.Say(5, 0, messages.GroupID(100+group), "x")
		}
		w.WaitIdle()
		if n := len(log.with("reach nobody")); n > 20 {
			t.Errorf("%d lines", n)
		}
	})
}
