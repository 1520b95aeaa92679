package node

import "troupe/actors/script"

// Overdue lets the time pass that a call may take, as far as the watchdog knows, and has it look.
func Overdue(h script.Handler) {
	c := h.(*handler).child
	c.mu.Lock()
	c.watchdog.progress = c.watchdog.progress.Add(-c.watchdog.limit)
	c.mu.Unlock()
	c.look()
}
