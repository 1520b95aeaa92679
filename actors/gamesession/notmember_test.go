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

// linesOf keeps the lines of the logs of game sessions.
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

// A message to a group from a player that is not a member is dropped, and the game session's
// log says so once for each player and group.
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
		for group := range int32(500) { // the memory and the log lines per player are bounded
			a.Say(5, 0, messages.GroupID(100+group), "x")
		}
		w.WaitIdle()
		if n := len(log.with("reach nobody")); n > 20 {
			t.Errorf("%d lines", n)
		}
	})
}
