package matchmaker

import (
	"sync/atomic"
	"time"
)

// A pass works in pieces and rests between them, so that what else the host has to do, such as messages of game sessions, waits for a
// piece at most, and not for a pass.
const (
	// piece is how long a pass works between two rests.
	piece = 100 * time.Microsecond
	// rests is how long it rests, as a multiple of its work: it has an eighth of a core. A pass that spends its budget takes less than
	// 100 ms of work, so it ends before the next one is due.
	rests = 7
	// restMin is the shortest rest. The system's clock wakes nobody sooner than after a millisecond: what is owed is collected.
	restMin = 500 * time.Microsecond
	// restMax bounds one rest, after work that cannot pause.
	restMax = 20 * time.Millisecond
	// restAhead is how much of a rest that has taken longer counts for later work.
	restAhead = 2 * time.Millisecond
)

// pace says when to rest.
type pace struct{ owed time.Duration }

// work counts work, and returns how long to rest now.
func (p *pace) work(took time.Duration) time.Duration {
	if p.owed += rests * took; p.owed < restMin {
		return 0
	}
	return min(p.owed, restMax)
}

// rest counts a rest.
func (p *pace) rest(took time.Duration) { p.owed = min(max(p.owed-took, -restAhead), restMax) }

// worker is the goroutine of a slice: it has one of the Manager's places while it works, and none while it rests.
type worker struct {
	gate    chan struct{}
	work    func()      // of Options; may be nil
	stopped atomic.Bool // its matcher: it does not rest any more
	pace    pace
	since   time.Time
	worked  time.Duration // in this slice
}

// begin waits for a place.
func (w *worker) begin() {
	w.gate <- struct{}{}
	w.since, w.worked = time.Now(), 0
}

// end gives the place back.
func (w *worker) end() {
	took := time.Since(w.since)
	w.worked += took
	w.pace.work(took)
	<-w.gate
}

// pause rests if a piece of work is done.
func (w *worker) pause() {
	if w.work != nil {
		w.work()
	}
	took := time.Since(w.since)
	if took < piece {
		return
	}
	w.worked += took
	if d := w.pace.work(took); d > 0 && !w.stopped.Load() {
		<-w.gate
		began := time.Now()
		time.Sleep(d)
		w.gate <- struct{}{}
		w.pace.rest(time.Since(began))
	}
	w.since = time.Now()
}
