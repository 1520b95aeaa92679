package loadgen

import (
	"testing"
	"time"
)

func TestScheduleIsEvenAndExact(t *testing.T) {
	t.Parallel()
	const players, hz = 200, 20.0
	s := newSchedule(players, hz, 1)
	slot := s.period / players
	last := make(map[int]time.Duration)
	previous := time.Duration(-1)
	for k := range 5 * players {
		player, due := s.at(k)
		if due < previous {
			t.Fatalf("send %d is due before send %d", k, k-1)
		}
		previous = due
		if low := time.Duration(k) * slot; due < low || due > low+slot {
			t.Errorf("send %d at %v is outside its slot, which starts at %v", k, due, low)
		}
		if before, ok := last[player]; ok && due-before != 50*time.Millisecond {
			t.Errorf("player %d sends after %v", player, due-before)
		}
		last[player] = due
	}
	if len(last) != players {
		t.Errorf("%d players send", len(last))
	}
}

func TestScheduleSeed(t *testing.T) {
	t.Parallel()
	a, b, c := newSchedule(50, 10, 7), newSchedule(50, 10, 7), newSchedule(50, 10, 8)
	same := 0
	for k := range 50 {
		pa, da := a.at(k)
		pb, db := b.at(k)
		if pa != pb || da != db {
			t.Fatalf("send %d differs under one seed", k)
		}
		if _, dc := c.at(k); dc == da {
			same++
		}
	}
	if same == 50 {
		t.Error("the seed changes nothing")
	}
}
