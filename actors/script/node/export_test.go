package node

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"troupe/actors/script"
)

// Wait waits until Close has been called and all children and files are gone.
func (p *Program) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Bound replaces the limits on CPU time and processes. It must be called before the first game session.
func (p *Program) Bound(cpu time.Duration, processes int) {
	p.bounds = bounds{cmp.Or(cpu, p.bounds.cpu), cmp.Or(processes, p.bounds.processes)}
}

// Printed reports whether the process of several game sessions has printed text.
func Printed(h script.Handler, text string) bool {
	h.(*handler).mu.Lock()
	c := h.(*handler).child
	h.(*handler).mu.Unlock()
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.tail, func(l printed) bool { return strings.Contains(l.text, text) })
}

// Number returns the number of the process of a game session.
func Number(h script.Handler) int {
	h.(*handler).mu.Lock()
	defer h.(*handler).mu.Unlock()
	return h.(*handler).child.number
}

// Overdue makes the watchdog believe that the current call has reached its time limit, and makes it check.
func Overdue(h script.Handler) {
	c := h.(*handler).child
	c.mu.Lock()
	c.watchdog.progress = c.watchdog.progress.Add(-c.watchdog.limit)
	c.mu.Unlock()
	c.look()
}
