package matchmaker

import (
	"sync/atomic"
	"time"
)

// A pass works in pieces and rests between them, so that other work of the host waits at most one piece.
const (
	// piece is how long a pass works between two rests.
	piece = 100 * time.Microsecond
	// rests is the ratio of rest to work: a pass uses an eighth of a core. A pass that spends its whole budget works less than 100 ms,
	// so it ends before the next one is due.
	rests = 7
	// restMin is the shortest rest. Sleeps take about a millisecond at least, so shorter ones accumulate until then.
	restMin = 500 * time.Microsecond
	// restMax bounds one rest: work that cannot pause may owe more.
	restMax = 20 * time.Millisecond
	// restAhead bounds the credit for later work from a rest that took too long.
	restAhead = 2 * time.Millisecond
)

// pace computes rests. Owed is the rest that is due, negative for a credit.
type pace struct{ owed time.Duration }

// work adds work, and returns how long to rest now.
func (p *pace) work(took time.Duration) time.Duration {
	if p.owed += rests * took; p.owed < restMin {
		return 0
	}
	return min(p.owed, restMax)
}

func (p *pace) rest(took time.Duration) { p.owed = min(max(p.owed-took, -restAhead), restMax) }

// worker is the goroutine of a slice. It holds a slot of Manager.gate while it works, but not while it rests.
type worker struct {
	gate    chan struct{}
	work    func()      // of Options; may be nil
	stopped atomic.Bool // the matcher has stopped: no more rests
	pace    pace
	since   time.Time
	worked  time.Duration // in this slice
}

func (w *worker) begin() {
	w.gate <- struct{}{}
	w.since, w.worked = time.Now(), 0
}

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
