package faults

import (
	"testing"

	"troupe/bench/server"
)

// A script of the game may reject all messages of the players. Without a delivered message, such a run proves nothing.
// The host's built-in script always delivers.
func TestNothingDeliveredIsNothingProven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o               Options
		sent, delivered uint64
		refused         bool
	}{
		{Options{Against: new(server.Remote)}, 9, 0, true},
		{Options{Script: "game.js"}, 9, 0, true},
		{Options{Script: "game.js"}, 9, 1, false},
		{Options{Script: "game.js"}, 0, 0, false},
		{Options{}, 9, 0, false},
	} {
		r := &run{o: c.o}
		if err := r.proven(&Figures{Sent: c.sent, Delivered: c.delivered}); (err != nil) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
