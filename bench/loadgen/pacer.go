package loadgen

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// sleepMax bounds one sleep of the pacer, so that it notices the end of its context.
const sleepMax = 50 * time.Millisecond

// pacer sends for every player of the swarm. When it is late, because a write blocks or the machine is busy, it sends at once what is
// due, with the intended times.
type pacer struct {
	swarm       *Swarm
	schedule    schedule
	start, stop int64 // of intended times, on the swarm's clock

	// owned by run; read when it has returned
	sent     int64 // inside the window
	expected int64
	lateness *hdrhistogram.Histogram
}

// goRun starts the pacer. The function it returns waits until the pacer is done, and after the given grace makes it stop,
// also out of a write that the server does not take; it may be called again.
func (p *pacer) goRun(ctx context.Context) (halt func(grace time.Duration)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	unblock := context.AfterFunc(ctx, func() {
		for _, c := range p.swarm.conns {
			c.interrupt()
		}
	})
	go func() {
		defer close(done)
		addProcessors(1)
		defer addProcessors(-1)
		p.run(ctx)
	}()
	return func(grace time.Duration) {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-done:
			unblock() // before cancel: connections stay usable
		case <-timer.C:
		}
		cancel()
		<-done
	}
}

// processors is held while the number of processors that Go's scheduler has is changed.
var processors sync.Mutex

// addProcessors gives Go's scheduler n more processors: a pacer keeps one of them while it sleeps.
func addProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}

// run returns when every send is made or ctx ends.
func (p *pacer) run(ctx context.Context) {
	for k := 0; ; k++ {
		player, offset := p.schedule.at(k)
		due := p.start + int64(offset)
		if due >= p.stop || !p.sleepUntil(ctx, due) {
			return
		}
		p.send(p.swarm.conns[player], due)
	}
}

// sleepUntil returns false when ctx ended first.
func (p *pacer) sleepUntil(ctx context.Context, due int64) bool {
	for {
		if ctx.Err() != nil {
			return false
		}
		wait := time.Duration(due - p.swarm.now())
		if wait <= 0 {
			return true
		}
		sleepPrecisely(min(wait, sleepMax))
	}
}

func (p *pacer) send(c *conn, due int64) {
	if c.dead.Load() {
		return
	}
	s := p.swarm
	late := s.now() - due
	if err := c.send(due); err != nil {
		c.dead.Store(true)
		s.sendErrors.Add(1)
		s.noteError(fmt.Errorf("peer %d of room %d: send: %w", c.peer, c.room, err))
		return
	}
	s.sent.Add(1)
	if s.window.has(due) {
		p.sent++
		p.expected += s.receivers(c)
		record(p.lateness, late)
	}
}

// receivers is how many players get a message of c.
func (s *Swarm) receivers(c *conn) int64 {
	switch s.cfg.To {
	case ToRoom:
		return int64(len(s.rooms[c.room]))
	case ToAnything:
		return 0
	default:
		return 1
	}
}

// dueInWindow is how many sends are due inside the window, whether they were made or not.
func (p *pacer) dueInWindow() (n int64) {
	players := len(p.schedule.order)
	from, to := p.swarm.window.from.Load()-p.start, p.stop-p.start
	for slot := range players {
		first, period := int64(p.schedule.phase[slot]), int64(p.schedule.period)
		n += periods(to-first, period) - periods(from-first, period)
	}
	return n
}

// periods is how many of 0, period, 2*period ... lie below d.
func periods(d, period int64) int64 {
	if d <= 0 {
		return 0
	}
	return (d + period - 1) / period
}
