package node

import (
	"testing"
	"time"
)

func TestTheWatchdog(t *testing.T) {
	start := time.Unix(0, 0)
	w := watchdog{limit: 10 * time.Second}
	now := start
	look := func(to time.Duration, wantStuck, wantAsk bool) {
		t.Helper()
		for at := now.Add(w.every()); !at.After(start.Add(to)); at = at.Add(w.every()) {
			stuck, ask := w.look(at)
			if last := at.Equal(start.Add(to)); last && (stuck != wantStuck || ask != wantAsk) || !last && stuck {
				t.Fatalf("after %v: stuck %v, ask %v", at.Sub(start), stuck, ask)
			}
			now = at
		}
	}
	look(60*time.Second, false, true) // no frame is open
	w.sent(now)
	look(69*time.Second, false, false)
	w.sent(now) // does not restart the time limit
	look(70*time.Second, true, false)
	if w.confirmed(3, now) {
		t.Error("more confirmed than sent")
	}
	if w.confirmed(0, now) { // an acknowledgement of no frames is not progress
		t.Error("nothing confirmed")
	}
	look(70*time.Second, true, false)
	if !w.confirmed(1, now) { // an acknowledgement of a frame is progress
		t.Error("not confirmed")
	}
	look(75*time.Second, false, false)
	// The host was suspended for an hour, and the child with it.
	now = now.Add(time.Hour)
	if stuck, _ := w.look(now); stuck {
		t.Error("stuck because of the host")
	}
	start = start.Add(time.Hour - w.every())
	look(80*time.Second, true, false)
	w = watchdog{}
	w.sent(now)
	if stuck, _ := w.look(now.Add(time.Hour)); stuck {
		t.Error("stuck without a limit")
	}
}

func TestProcessorTimeIsCountedInAWindow(t *testing.T) {
	m := cpuMeter{window: 10 * time.Second}
	start := time.Unix(0, 0)
	for i := range 1000 { // half a core for 250 s
		at := time.Duration(i) * 250 * time.Millisecond
		got := m.add(start.Add(at), at/2)
		want := min(at, m.window) / 2
		if got < want || got > want+m.window/10 {
			t.Fatalf("after %v: %v, want %v", at, got, want)
		}
		if len(m.samples) > 13 {
			t.Fatalf("%d samples", len(m.samples))
		}
	}
}
