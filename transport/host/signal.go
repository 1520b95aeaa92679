package host

import (
	"context"
	"sync"

	"troupe/messages"
)

// signal wakes the goroutines that wait for something to change. The zero value is ready to use.
type signal struct {
	mu sync.Mutex
	c  chan struct{} // nil if nobody waits
}

// next returns a channel that is closed at the next change.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// tell says that there was a change.
func (s *signal) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}

// AwaitFleets returns when the host has at least n fleets. A host of a cluster gets them from the leader. The error is
// ctx's, or the host has stopped.
func (h *Host) AwaitFleets(ctx context.Context, n int) error {
	for {
		var changed <-chan struct{}
		if h.node != nil {
			changed = h.node.replicated.next()
		}
		fleets, err := messages.Do(ctx, h.system, messages.FleetQuery{})
		if err != nil || len(fleets) >= n {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
