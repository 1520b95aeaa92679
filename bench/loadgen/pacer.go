package loadgen

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// sleepMax bounds one sleep of the pacer, so that it notices when its context ends.
const sleepMax = 50 * time.Millisecond

// pacer sends for every player of the swarm. If it is late because a write blocks or the machine is busy, it
// immediately sends all messages that are due, with their intended send times.
type pacer struct {
	swarm       *Swarm
	schedule    schedule
	start, stop int64 // range of intended send times, on the swarm's clock

	// owned by run; read after run has returned
	sent     int64 // sends inside the window
	expected int64
	lateness *hdrhistogram.Histogram
}

// goRun starts the pacer. The returned function waits until the pacer is done. After the given grace it stops the
// pacer, even in a write that the server does not accept. The function may be called again.
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
			unblock() // before cancel, so that cancel does not interrupt the connections
		case <-timer.C:
		}
		cancel()
		<-done
	}
}

// processors is held while GOMAXPROCS is changed.
var processors sync.Mutex

// addProcessors raises GOMAXPROCS by n, because the pacer occupies one processor even while it sleeps.
func addProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}

// run returns when all messages have been sent or ctx ends.
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

// sleepUntil sleeps until due. It returns false if ctx ends first.
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

// receivers returns how many players receive a message of c.
func (s *Swarm) receivers(c *conn) int64 {
	switch s.cfg.To {
	case ToRoom:
		return int64(len(s.rooms[c.room]))
	case ToAnything, ToTicks:
		return 0
	default:
		return 1
	}
}

// dueInWindow returns how many sends are due inside the window, whether or not they were made.
func (p *pacer) dueInWindow() (n int64) {
	players := len(p.schedule.order)
	from, to := p.swarm.window.from.Load()-p.start, p.stop-p.start
	for slot := range players {
		first, period := int64(p.schedule.phase[slot]), int64(p.schedule.period)
		n += periods(to-first, period) - periods(from-first, period)
	}
	return n
}

// periods returns how many of the times 0, period, 2*period, ... are less than d.
func periods(d, period int64) int64 {
	if d <= 0 {
		return 0
	}
	return (d + period - 1) / period
}
