package matchmaker

import (
	"sync/atomic"
	"time"
)

// A pass works in pieces and rests between them, so that other work of the host is delayed by one piece at
// most.
const (
	// piece is the working time between two rests.
	piece = 100 * time.Microsecond
	// rests is the ratio of rest to work, so that a pass uses an eighth of a core. A pass that spends its
	// whole budget works less than 100 ms, so it ends before the next one is due.
	rests = 7
	// restMin is the minimum duration of a rest. A sleep takes at least about a millisecond, so shorter rests
	// are accumulated.
	restMin = 500 * time.Microsecond
	// restMax is the maximum duration of a rest. Work without pause points may owe more.
	restMax = 20 * time.Millisecond
	// restAhead is the maximum credit for later work when a rest took too long.
	restAhead = 2 * time.Millisecond
)

// pace computes rests. owed is the rest that is due; a negative value is a credit.
type pace struct{ owed time.Duration }

// work adds the duration of work, and returns how long to rest now.
func (p *pace) work(took time.Duration) time.Duration {
	if p.owed += rests * took; p.owed < restMin {
		return 0
	}
	return min(p.owed, restMax)
}

func (p *pace) rest(took time.Duration) { p.owed = min(max(p.owed-took, -restAhead), restMax) }

// worker paces the goroutine of a slice. The goroutine occupies a slot of Manager.gate while it works, but
// not while it rests.
type worker struct {
	gate    chan struct{}
	work    func()      // Options.work; may be nil
	stopped atomic.Bool // the matcher has stopped, so do not rest any more
	pace    pace
	since   time.Time
	worked  time.Duration // working time in this slice
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

// pause rests if a piece of work is finished.
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
