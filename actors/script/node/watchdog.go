package node

import "time"

// watchdog detects a child that no longer handles the frames it is sent. The owner reports events to it and
// calls look periodically.
type watchdog struct {
	limit time.Duration // maximum duration of a call; 0 means no limit

	open     int       // number of frames not acknowledged yet
	progress time.Time // when the child could begin to handle the oldest unacknowledged frame
	looked   time.Time
}

func (w *watchdog) sent(now time.Time) {
	if w.open == 0 {
		w.progress = now
	}
	w.open++
}

// confirmed records that the child has handled n frames. It returns false if n is invalid: 0, or more frames
// than are open.
func (w *watchdog) confirmed(n uint32, now time.Time) bool {
	if n == 0 || int64(n) > int64(w.open) {
		return false
	}
	w.open -= int(n)
	w.progress = now
	return true
}

// every returns the interval at which to call look. It is long enough that game sessions without players cost
// almost nothing.
func (w *watchdog) every() time.Duration {
	if w.limit <= 0 {
		return time.Second
	}
	return min(max(w.limit/10, 10*time.Millisecond), 3*time.Second)
}

// look reports whether the child is stuck. ask is true if no frame is open, so that the owner should send one
// to check that the child is alive. If look is called late, the host itself was delayed, and the child gets
// that much more time.
func (w *watchdog) look(now time.Time) (stuck, ask bool) {
	if late := now.Sub(w.looked) - w.every(); !w.looked.IsZero() && late > w.every() {
		w.progress = w.progress.Add(late)
	}
	w.looked = now
	return w.limit > 0 && w.open > 0 && now.Sub(w.progress) >= w.limit, w.open == 0
}
