package node

import (
	"cmp"
	"context"
	"time"

	"troupe/actors/script"
)

// Wait returns when Close has been called and all is gone.
func (p *Program) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Bound replaces the bounds of processor time and processes. It comes before the first game session.
func (p *Program) Bound(cpu time.Duration, processes int) {
	p.bounds = bounds{cmp.Or(cpu, p.bounds.cpu), cmp.Or(processes, p.bounds.processes)}
}

// Overdue lets the time pass that a call may take, as far as the watchdog knows, and has it look.
func Overdue(h script.Handler) {
	c := h.(*handler).child
	c.mu.Lock()
	c.watchdog.progress = c.watchdog.progress.Add(-c.watchdog.limit)
	c.mu.Unlock()
	c.look()
}
