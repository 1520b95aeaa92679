package gamesession_test

import (
	"fmt"
	"strings"
	"testing"

	"troupe/actors/gamesession"
	"troupe/messages"
	"troupe/messages/wire"
)

// A message that is only for the game has a frame only if it is large. Both kinds of messages wait behind a group
// operation of their player, and neither refers to the reader's memory.
func TestMessagesOfAnySizeReachTheGame(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		a := w.Player(w.Create(g))
		g.Take()
		var want []string
		a.Group(join, 4)
		for i, size := range []int{0, 1, 64, 512, 513, wire.PayloadMax, 3} {
			text := strings.Repeat(string(rune('a'+i)), size)
			a.Say(int32(i+1), messages.ServerPeer, 9, text)
			want = append(want, fmt.Sprintf("message %d from 1 to -1/9: %s", i+1, text))
		}
		equal(w, "callbacks", g.Take(), append([]string{"join 4 by 1"}, want...)...)
	})
}

func TestASmallMessageToTheGameHasNoFrame(t *testing.T) {
	to := func(player int32, size int) *wire.Header {
		return &wire.Header{OpCode: 7, Sender: 1, TargetPlayer: player, Payload: make([]byte, size)}
	}
	for _, c := range []struct {
		h              *wire.Header
		framed, player bool
	}{
		{to(wire.ServerPeer, 0), false, false}, {to(wire.ServerPeer, 512), false, false}, {to(wire.ServerPeer, 513), true, false},
		{to(2, 0), true, true}, {to(0, 512), true, false},
	} {
		in := gamesession.NewInbound()
		in.Carry(c.h)
		if size := len(c.h.Payload); (in.Frame != nil) != c.framed || in.ToOnePlayer() != c.player || in.Size() <= size {
			t.Errorf("to %d, %d bytes: frame %t, to one player %t, size %d", c.h.TargetPlayer, size, in.Frame != nil, in.ToOnePlayer(), in.Size())
		}
		in.Release()
	}
	if raceEnabled {
		t.Log("allocations are not counted: sync.Pool drops items at random with the race detector")
		return
	}
	h := to(wire.ServerPeer, 512)
	if n := testing.AllocsPerRun(1000, func() {
		in := gamesession.NewInbound()
		in.Carry(h)
		in.Release()
	}); n > 0 {
		t.Errorf("%v allocations per message", n)
	}
}
