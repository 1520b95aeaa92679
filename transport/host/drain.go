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
	endTimeout    = 10 * time.Second // for game sessions to end once they are told to
	closeTimeout  = 5 * time.Second  // for listeners to close
	progressEvery = 10 * time.Second // between two lines of the log
)

// drains is the state of a Host's drains. Several may run at the same time: an operator's and that of a signal. They end together.
type drains struct {
	forced atomic.Bool // the host must end: no drain can be cancelled
	once   sync.Once   // closes Host.drained

	mu sync.Mutex
	// guarded by mu
	running int
	until   time.Time // the end of the earliest grace
	closing bool      // listeners are closed, or are about to be
}

// Drain stops the host in order. At once the host reports that it is not ready, and refuses new game sessions, seats and placements.
// Players of running game sessions still log in and resume. When the game sessions have ended, or the configured grace has ended them,
// the host closes its listeners, tells the remaining players, and stops. Drain returns then, or with fleet.ErrDrainCancelled after a
// CancelDrain. Cancelling ctx skips the wait.
func (h *Host) Drain(ctx context.Context) error { return h.beginDrain(h.grace).run(ctx) }

// StartDrain starts a drain in the background; Drained is closed at its end. A negative grace means the configured one. If another drain is
// under way, the earlier deadline counts.
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

// Fail drains a host that cannot go on for long, and then calls Options.OnFailure, so that its process is started again. A grace longer
// than the configured one, or negative, means that one. This drain cannot be cancelled. Fail returns at once; any goroutine may call it,
// again with less grace.
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

// CancelDrain makes a draining host serve again. Game sessions that have ended stay ended. It returns fleet.ErrNotDraining without a
// drain, and fleet.ErrDrainTooLate if the drain can no longer be cancelled.
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

// Drained is closed when a drain that StartDrain or Fail began has ended the host.
func (h *Host) Drained() <-chan struct{} { return h.drained }

// Close stops at once: game sessions end, players are told, everything closes.
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
	over  chan error // the end of all game sessions, or an error
	tells bool       // it logs the progress
}

// beginDrain starts a drain. The caller must call run, which waits for its end.
func (h *Host) beginDrain(grace time.Duration) *drain {
	d := &drain{h: h, grace: grace, over: make(chan error, 1)}
	all := &h.drains
	all.mu.Lock()
	defer all.mu.Unlock()
	h.ops.SetReady(false)
	h.count.Draining.Store(1)
	if until := time.Now().Add(grace); all.until.IsZero() || until.Before(all.until) {
		all.until = until
	}
	d.tells = all.running == 0
	all.running++
	h.system.Send(messages.Drain{Grace: grace}, func(_ any, err error) { d.over <- err })
	return d
}

// run waits for the end of the drain, and stops the host.
func (d *drain) run(ctx context.Context) error {
	err := d.wait(ctx)
	if err == nil {
		d.h.stop(messages.CloseGoingAway)
	}
	d.h.drains.mu.Lock()
	defer d.h.drains.mu.Unlock()
	d.h.drains.running--
	return err
}

// wait waits until all game sessions have ended, or until the drain stops waiting for them.
func (d *drain) wait(ctx context.Context) error {
	d.progress("draining")
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
			d.progress("still draining")
		case <-late.C:
			d.h.log.Warn().Msg("game sessions did not end in time")
			return nil
		}
	}
}

// stopAccepting closes the listeners, because the grace is over. From here on the drain cannot be cancelled. If it has been cancelled
// already, or is over, it returns that instead.
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

// progress logs the game sessions and players that the drain waits for.
func (d *drain) progress(what string) {
	if !d.tells {
		return
	}
	s := d.h.Drains()
	d.h.log.Info().Int64("game_sessions", s.GameSessions).Int64("players", s.Players).Int64("detached", s.Detached).
		Stringer("grace_left", time.Duration(s.GraceSeconds*float64(time.Second)).Round(time.Second)).Msg(what)
}
