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

// The sends that are due inside the window are counted from the schedule, whether or not they were made.
func TestDueInWindow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		p := &pacer{swarm: new(Swarm), schedule: newSchedule(7, 30, seed), start: 5, stop: 5 + int64(731*time.Millisecond)}
		p.swarm.window.from.Store(5 + int64(100*time.Millisecond))
		p.swarm.window.to.Store(p.stop)
		want := int64(0)
		for k := 0; ; k++ {
			_, offset := p.schedule.at(k)
			if due := p.start + int64(offset); due >= p.stop {
				break
			} else if p.swarm.window.has(due) {
				want++
			}
		}
		if got := p.dueInWindow(); got != want {
			t.Errorf("seed %d: %d are due, want %d", seed, got, want)
		}
	}
}

func TestReceivers(t *testing.T) {
	t.Parallel()
	for to, want := range map[Target][5]int64{ToRoom: {5, 5, 5, 5, 5}, ToSelf: {1, 1, 1, 1, 1}, ToAnything: {}} {
		s := &Swarm{cfg: Config{To: to}, rooms: map[int][]*conn{4: nil}}
		for range 5 {
			s.rooms[4] = append(s.rooms[4], &conn{room: 4})
		}
		for i, c := range s.rooms[4] {
			if got := s.receivers(c); got != want[i] {
				t.Errorf("target %d: player %d reaches %d, want %d", to, i, got, want[i])
			}
		}
	}
}
