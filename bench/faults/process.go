package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"troupe/bench/faults/disk"
	"troupe/bench/server"
	"troupe/transport/client"
)

// onHost begins a fault of the host's process and returns a function that ends it.
func (r *run) onHost(ctx context.Context, e Event, players *crew) (end func() error, err error) {
	if e.Fault.onDisk() {
		if end = breakDisk(r.disk, e); e.Fault != DiskSlow {
			end = r.calls.during(end)
		}
		return end, nil
	}
	switch e.Fault {
	case Stall:
		if err := r.proc.Pause(); err != nil {
			return nil, err
		}
		return r.proc.Continue, nil
	case Throttle:
		return r.throttle(e.Share), nil
	case Memory:
		return r.crowd(ctx)
	case Files:
		return r.proc.NoMoreFiles()
	case Hang:
		return r.hang(ctx)
	case Restart:
		r.asked = time.Now()
		if err := r.proc.Terminate(); err != nil {
			return nil, err
		}
		return func() error {
			r.left = r.awaitExit(ctx, time.Until(r.asked.Add(time.Duration(e.For)+exitMax)))
			return r.startAgain(ctx, players)
		}, nil
	}
	r.proc.Kill()
	return func() error { return r.startAgain(ctx, players) }, nil
}

// breakDisk begins a fault of a disk and returns a function that ends it.
func breakDisk(d *disk.Disk, e Event) (end func() error) {
	set := d.FailWrites
	why := map[Kind]syscall.Errno{DiskFull: syscall.ENOSPC, DiskReadOnly: syscall.EROFS, DiskSync: syscall.EIO}[e.Fault]
	switch e.Fault {
	case DiskSlow:
		d.Slow(time.Duration(e.Delay))
		return func() error { d.Slow(0); return nil }
	case DiskSync:
		set = d.FailSyncs
	}
	set(why)
	return func() error { set(0); return nil }
}

// startAgain starts a host on the store of the previous host and points the players' paths to it.
func (r *run) startAgain(ctx context.Context, players *crew) error {
	old := r.proc
	proc, err := server.Start(ctx, r.own)
	if err != nil {
		return err
	}
	r.proc, r.restarted = proc, time.Now()
	for _, p := range players.players {
		tcp := proc.Announce.WS
		if r.transport(p.index) == client.WSS {
			tcp = proc.Announce.WSS
		}
		p.path.Retarget(tcp, proc.Announce.KCP)
	}
	return errors.Join(old.Stop(), proc.AwaitFleet(ctx, ownFleet))
}

// exitMax is how long a host that was asked to end may take in addition to the time that it grants its games.
const exitMax = 20 * time.Second

// exit records how the host ended after it was asked to end.
type exit struct {
	after time.Duration
	code  int // -1: killed by a signal, or after the timeout
}

// awaitExit waits for the host's process to exit, and kills it after most.
func (r *run) awaitExit(ctx context.Context, most time.Duration) exit {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.proc.Exited():
		return exit{time.Since(r.asked), r.proc.ExitCode()}
	case <-timer.C:
	case <-ctx.Done():
	}
	r.proc.Kill()
	return exit{time.Since(r.asked), -1}
}

// throttlePeriod is the period of a CPU quota in a container.
const throttlePeriod = 100 * time.Millisecond

// throttle lets the host run for only a share of each period until end is called.
func (r *run) throttle(share float64) (end func() error) {
	proc := r.proc
	over := make(chan struct{})
	var work sync.WaitGroup
	var failed error
	work.Go(func() {
		runs := time.Duration(share * float64(throttlePeriod))
		for tick := time.NewTimer(0); ; {
			for _, part := range []struct {
				do   func() error
				time time.Duration
			}{{proc.Pause, throttlePeriod - runs}, {proc.Continue, runs}} {
				select {
				case <-tick.C:
				case <-over:
					return
				}
				if failed = part.do(); failed != nil {
					return
				}
				tick.Reset(part.time)
			}
		}
	})
	return func() error {
		close(over)
		work.Wait()
		return errors.Join(failed, proc.Continue())
	}
}

const (
	// hangFleet is the fleet of the game whose script hangs. hangRoom is the room number of that game.
	hangFleet = "fleet-hang"
	hangRoom  = 1000
	opHang    = 9
	// scriptLimit is how long the host lets a callback run. quickLimit is its value in a quick run.
	scriptLimit = 30 * time.Second
	quickLimit  = 3 * time.Second
	// hangGrace is how much longer than the limit such a game may run. Limit plus grace is the bound of RL-111.
	hangGrace = time.Second
	// hangWait is how much longer the run waits before it fails.
	hangWait = 30 * time.Second
	// hangSteps is the number of goroutines that must run in turn to end the game: the watchdog, the game session, and
	// the player's reader. A busy machine may delay each of them.
	hangSteps = 3
)

// hung is the game whose script hangs.
type hung struct {
	session string
	began   time.Time
	player  *client.Client
	told    chan time.Duration // receives the time until the player learned that the game has ended
	late    lateness
}

// lateness records the largest delay with which the machine runs a timer.
type lateness struct{ most atomic.Int64 }

// watch measures until stop is closed.
func (l *lateness) watch(stop <-chan struct{}) {
	const every = 10 * time.Millisecond
	tick := time.NewTimer(every)
	for due := time.Now().Add(every); ; due = time.Now().Add(every) {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		l.most.Store(max(l.most.Load(), int64(time.Since(due))))
		tick.Reset(every)
	}
}

// hang creates a game in hangFleet and makes its script hang.
func (r *run) hang(ctx context.Context) (end func() error, err error) {
	room, err := r.proc.OpenIn(ctx, hangFleet, hangRoom, 1)
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, client.Options{Addr: room.Addr, PlayerSessionID: room.IDs[0], Transport: client.WS, DialTimeout: dialMax})
	if err != nil {
		return nil, fmt.Errorf("log in to the game that hangs: %w", err)
	}
	r.hung = &hung{session: room.Session, began: time.Now(), player: c, told: make(chan time.Duration, 1)}
	go r.hung.late.watch(c.Done())
	go func(h *hung) {
		for range c.Events() {
		}
		<-c.Done()
		h.told <- time.Since(h.began)
	}(r.hung)
	if err := c.Send(ctx, client.Message{OpCode: opHang, TargetPlayer: client.Server, Intent: client.Reliable}); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}

// judgeHang waits until the hanging game has ended and judges how long that took.
func (r *run) judgeHang(ctx context.Context) ([]Verdict, error) {
	h := r.hung
	if h == nil {
		return nil, nil
	}
	defer h.player.Abort()
	most := scriptLimit + hangGrace
	if r.o.Quick {
		most = quickLimit + hangGrace
	}
	timer := time.NewTimer(time.Until(h.began.Add(most + hangWait)))
	defer timer.Stop()
	after := most + hangWait
	select {
	case after = <-h.told:
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	status, err := r.proc.Status(ctx, h.session)
	if err != nil {
		return nil, err
	}
	late := time.Duration(h.late.most.Load())
	return []Verdict{judge("RL-111", fmt.Sprintf("a game whose script hangs is ended within %v, and its player is told", most),
		after <= most+hangSteps*late && status == "TERMINATED",
		"told after %v: %s; status %q; this machine ran up to %v late", after.Round(time.Millisecond), h.player.End(), status, late.Round(time.Millisecond))}, nil
}

// judgeRestart judges how the host ended after it was asked to end.
func (r *run) judgeRestart(players *crew) []Verdict {
	var lost violations
	for _, p := range players.players {
		p.mu.Lock()
		for i, other := range players.players {
			from := &p.ledger.from[i]
			for n := uint64(1); n <= other.sent.Load() && other.times.of(n).Before(r.asked); n++ {
				if _, hole := from.holes[n]; hole || n > from.last {
					lost.add("message %d of player %d to player %d", n, i, p.index)
				}
			}
		}
		p.mu.Unlock()
	}
	return []Verdict{
		lost.judge("RL-30", "what was sent before the host was asked to stop arrives", "%d messages did not", lost.count),
		judge("RL-30", "a host that is asked to stop ends by itself", r.left.code == 0, "exit code %d after %v", r.left.code, r.left.after.Round(time.Millisecond)),
	}
}
