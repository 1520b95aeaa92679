package node

import "time"

// watchdog finds a child that has stopped to handle what it is sent. Its owner tells it what happens and asks it now and then.
type watchdog struct {
	limit time.Duration // a call may take so long; 0: no limit

	open     int       // frames that are not confirmed
	progress time.Time // since when the oldest open frame is the child's next
	looked   time.Time
}

func (w *watchdog) sent(now time.Time) {
	if w.open == 0 {
		w.progress = now
	}
	w.open++
}

// confirmed tells that the child has handled n frames. False: it cannot have, or has handled none, which is no progress.
func (w *watchdog) confirmed(n uint32, now time.Time) bool {
	if n == 0 || int64(n) > int64(w.open) {
		return false
	}
	w.open -= int(n)
	w.progress = now
	return true
}

// every is how often the watchdog wants to look: not so often that game sessions without players cost something.
func (w *watchdog) every() time.Duration {
	if w.limit <= 0 {
		return time.Second
	}
	return min(max(w.limit/10, 10*time.Millisecond), 3*time.Second)
}

// look tells whether the child is stuck, and whether it is to be asked for a sign of life, because nothing is open. A look that comes late
// excuses the child: the host was held up itself.
func (w *watchdog) look(now time.Time) (stuck, ask bool) {
	if late := now.Sub(w.looked) - w.every(); !w.looked.IsZero() && late > w.every() {
		w.progress = w.progress.Add(late)
	}
	w.looked = now
	return w.limit > 0 && w.open > 0 && now.Sub(w.progress) >= w.limit, w.open == 0
}
