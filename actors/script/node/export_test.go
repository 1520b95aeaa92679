package node

import (
	"context"

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

// Overdue lets the time pass that a call may take, as far as the watchdog knows, and has it look.
func Overdue(h script.Handler) {
	c := h.(*handler).child
	c.mu.Lock()
	c.watchdog.progress = c.watchdog.progress.Add(-c.watchdog.limit)
	c.mu.Unlock()
	c.look()
}
