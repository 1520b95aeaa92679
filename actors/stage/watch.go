package stage

import (
	"sync"
	"sync/atomic"
	"time"
)

// blockedMax is how long a run of a mailbox may block a shard before another worker takes the shard over. It
// is longer than a normal run and shorter than a frame.
const blockedMax = 10 * time.Millisecond

// warnEvery is the minimum time between two warnings about blocked shards.
const warnEvery = time.Second

// watch takes shards from owners that are blocked in one run of a mailbox while other mailboxes wait. It
// checks every blockedMax, and sleeps while no shard is active, so that an idle process has no periodic
// wake-ups. It needs no wake-up while it is busy.
type watch struct {
	stage  *Stage
	asleep atomic.Bool
	woken  chan struct{}
	stop   chan struct{}
	done   sync.WaitGroup

	// owned by the watch goroutine
	last      []progressSample
	runs      uint64 // total runs of all shards at the last check
	takeovers int
	warnedAt  time.Time
}

func (w *watch) start(s *Stage) {
	w.stage, w.last = s, make([]progressSample, len(s.shards))
	w.woken, w.stop = make(chan struct{}, 1), make(chan struct{})
	w.done.Go(w.run)
}

func (w *watch) close() {
	close(w.stop)
	w.done.Wait()
}

// wakeUp wakes the watch when a shard gets an owner. If the watch is awake, it costs only an atomic load.
func (w *watch) wakeUp() {
	if w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

func (w *watch) run() {
	timer := time.NewTimer(blockedMax)
	defer timer.Stop()
	for {
		w.asleep.Store(true)
		if w.quiet() { // from here on, a new owner calls wakeUp
			w.stage.strain.calm(w.stage.shards)
			select {
			case <-w.stop:
				return
			case <-w.woken:
			}
		}
		w.asleep.Store(false)
		for again := true; again; again = !w.quiet() {
			timer.Reset(blockedMax)
			select {
			case <-w.stop:
				return
			case <-timer.C:
				w.check()
				w.stage.strain.check(w.stage.shards)
			}
		}
	}
}

// quiet reports whether no shard has had an owner since the last check.
func (w *watch) quiet() bool {
	quiet, runs := true, uint64(0)
	for _, sh := range w.stage.shards {
		owned, n := sh.activity()
		quiet = quiet && !owned
		runs += n
	}
	quiet = quiet && runs == w.runs
	w.runs = runs
	return quiet
}

func (w *watch) check() {
	for i, sh := range w.stage.shards {
		now, waiting, took := sh.takeOver(w.last[i])
		w.last[i] = now
		if took {
			w.tookOver(i, waiting)
		}
	}
}

// tookOver counts a takeover, and logs takeovers at most once per warnEvery.
func (w *watch) tookOver(shard, waiting int) {
	w.takeovers++
	now := time.Now()
	if now.Sub(w.warnedAt) < warnEvery {
		return
	}
	w.stage.log.Warn().Int("shard", shard).Int("waiting", waiting).Int("times", w.takeovers).
		Msg("an actor holds up its shard; another worker takes over")
	w.takeovers, w.warnedAt = 0, now
}
