package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/fleet"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/ops"
)

const (
	endTimeout    = 10 * time.Second // maximum time for game sessions to end after they were told to
	closeTimeout  = 5 * time.Second  // maximum time for listeners to close
	progressEvery = 10 * time.Second // interval of the progress lines in the log
)

// drains is the state of all drains of a Host. Several can run at once, for example an operator's and one
// that a signal started. All end at the same time.
type drains struct {
	forced atomic.Bool // the host must end: no drain can be cancelled
	once   sync.Once   // closes Host.drained

	mu sync.Mutex
	// The fields below are guarded by mu.
	until   time.Time // earliest deadline of all running drains; zero if there is none
	closing bool      // the listeners are closed or about to be closed
}

// Drain stops the host in an orderly way. At once the host reports that it is not ready, and refuses new game
// sessions, player sessions and placements. Players of running game sessions can still log in and resume. The
// game sessions end by themselves, or are ended after the configured grace. Then the host closes its
// listeners, tells the remaining players, and stops. Drain returns after that, or returns
// fleet.ErrDrainCancelled after CancelDrain. Cancelling ctx skips the wait.
func (h *Host) Drain(ctx context.Context) error { return h.beginDrain(h.grace).run(ctx) }

// StartDrain starts a drain in the background. When it has ended the host, Drained is closed. A negative
// grace means the configured one. If another drain is running, the earlier deadline applies.
func (h *Host) StartDrain(grace time.Duration) {
	if grace < 0 {
		grace = h.grace
	}
	d := h.beginDrain(grace)
	go func() {
		if d.run(context.Background()) == nil && !h.drains.forced.Load() {
			h.drains.once.Do(func() { close(h.drained) })
		}
	}()
}

// Fail drains a host that will soon stop working, and then calls Options.OnFailure, so that its process is
// restarted. If grace is negative or longer than the configured grace, the configured grace applies. This
// drain cannot be cancelled. Fail returns at once. Any goroutine may call it, and may call it again with a
// shorter grace.
func (h *Host) Fail(reason string, grace time.Duration) {
	h.drains.forced.Store(true)
	if grace < 0 || grace > h.grace {
		grace = h.grace
	}
	d := h.beginDrain(grace)
	go func() {
		if d.run(context.Background()) != nil {
			return
		}
		if h.onFailure != nil {
			h.onFailure(reason)
		}
		h.drains.once.Do(func() { close(h.drained) })
	}()
}

// CancelDrain makes a draining host accept game sessions again. Game sessions that have ended stay ended. It
// returns fleet.ErrNotDraining if no drain is running, and fleet.ErrDrainTooLate if the drain can no longer
// be cancelled.
func (h *Host) CancelDrain(ctx context.Context) error {
	d := &h.drains
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing || d.forced.Load() {
		return fleet.ErrDrainTooLate
	}
	if err := messages.Run(context.WithoutCancel(ctx), h.system, messages.CancelDrain{}); err != nil {
		return err
	}
	d.until = time.Time{}
	h.setDraining(false)
	h.count.Draining.Store(0)
	h.ops.SetReady(true)
	h.log.Info().Msg("the drain is cancelled: the host takes new game sessions again")
	return nil
}

// Drains returns the progress of a drain.
func (h *Host) Drains() ops.DrainState {
	h.drains.mu.Lock()
	until := h.drains.until
	h.drains.mu.Unlock()
	return h.drainState(until)
}

func (h *Host) drainState(until time.Time) ops.DrainState {
	s := ops.DrainState{
		ConfiguredGraceSeconds: h.grace.Seconds(),
		GameSessions:           h.count.GameSessions.Total(),
		Players:                h.count.Players.Get(counters.PlayerAttached) + h.count.Players.Get(counters.PlayerDetached),
		Detached:               h.count.Players.Get(counters.PlayerDetached),
	}
	if !until.IsZero() {
		s.Draining, s.GraceSeconds = true, max(0, time.Until(until).Seconds())
	}
	return s
}

// Drained returns a channel that is closed when a drain begun by StartDrain or Fail has ended the host.
func (h *Host) Drained() <-chan struct{} { return h.drained }

// Close stops the host at once: it ends the game sessions, tells the players, and closes everything.
func (h *Host) Close() {
	select {
	case <-h.stopped:
		return
	default:
	}
	skip, cancel := context.WithCancel(context.Background())
	cancel()
	h.drains.forced.Store(true)
	_ = h.Drain(skip)
}

type drain struct {
	h     *Host
	grace time.Duration
	over  chan error // receives nil when all game sessions have ended, or an error
	tells bool       // whether this drain logs the progress
}

// beginDrain starts a drain. The caller must call run, which waits for the end of the drain.
func (h *Host) beginDrain(grace time.Duration) *drain {
	d := &drain{h: h, grace: grace, over: make(chan error, 1)}
	all := &h.drains
	all.mu.Lock()
	defer all.mu.Unlock()
	h.ops.SetReady(false)
	h.count.Draining.Store(1)
	d.tells = all.until.IsZero()
	if until := time.Now().Add(grace); d.tells || until.Before(all.until) {
		all.until = until
	}
	d.progress("draining", h.drainState(all.until))
	h.setDraining(true)
	h.system.Send(messages.Drain{Grace: grace}, func(_ any, err error) { d.over <- err })
	return d
}

// setDraining tells the other hosts of the cluster that this one takes no new game sessions, and leads no longer.
func (h *Host) setDraining(on bool) {
	if h.node != nil {
		h.node.self.SetDraining(on)
	}
}

// run waits for the end of the drain and stops the host.
func (d *drain) run(ctx context.Context) error {
	err := d.wait(ctx)
	if err == nil {
		d.h.stop(messages.CloseGoingAway)
	}
	return err
}

// wait waits until all game sessions have ended, or the drain stops waiting for them.
func (d *drain) wait(ctx context.Context) error {
	skipped := ctx.Done()
	grace, late, progress := time.NewTimer(d.grace), time.NewTimer(d.grace+endTimeout), time.NewTicker(progressEvery)
	defer grace.Stop()
	defer late.Stop()
	defer progress.Stop()
	for {
		select {
		case err := <-d.over:
			return err
		case <-grace.C:
			if err, over := d.stopAccepting(); over {
				return err
			}
		case <-skipped:
			skipped = nil
			if err, over := d.stopAccepting(); over {
				return err
			}
			d.h.log.Info().Msg("no more waiting")
			d.h.system.Send(messages.Drain{}, func(any, error) {})
			late.Reset(endTimeout)
		case <-progress.C:
			d.progress("still draining", d.h.Drains())
		case <-late.C:
			d.h.log.Warn().Msg("game sessions did not end in time")
			return nil
		}
	}
}

// stopAccepting marks the listeners as closing once the grace is over. From then on, the drain cannot be
// cancelled. If the drain was cancelled or has ended before, stopAccepting returns that result and over =
// true.
func (d *drain) stopAccepting() (err error, over bool) {
	d.h.drains.mu.Lock()
	select {
	case err, over = <-d.over:
	default:
		d.h.drains.closing = true
	}
	d.h.drains.mu.Unlock()
	if over {
		return err, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := d.h.listeners.stopAccepting(ctx); err != nil {
		d.h.log.Warn().Err(err).Msg("a listener did not close in time")
	}
	return nil, false
}

// progress logs how many game sessions and players are left.
func (d *drain) progress(what string, s ops.DrainState) {
	if !d.tells {
		return
	}
	d.h.log.Info().Int64("game_sessions", s.GameSessions).Int64("players", s.Players).Int64("detached", s.Detached).
		Stringer("grace_left", time.Duration(s.GraceSeconds*float64(time.Second)).Round(time.Second)).Msg(what)
}
