package openset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"troupe/messages"
)

// Conn is a connection that a Set can close.
type Conn interface {
	comparable
	Close(reason messages.CloseReason)
}

// Set is the open connections of one listener. The zero value is empty. All methods are safe for concurrent use.
type Set[C Conn] struct {
	mu    sync.Mutex
	conns map[C]struct{}
	empty chan struct{} // closed when conns is empty; created by Wait
}

// Add adds an open connection. Add and Remove are functions rather than methods, so that a
// listener that embeds a Set does not export them.
func Add[C Conn](s *Set[C], c C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		s.conns = make(map[C]struct{})
	}
	s.conns[c] = struct{}{}
}

// Remove removes a connection that has ended. It does nothing if the connection is not in the set.
func Remove[C Conn](s *Set[C], c C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if len(s.conns) == 0 && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
}

// Len returns the number of open connections.
func (s *Set[C]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// CloseAll closes every open connection with a reason. It does not wait until they have ended.
func (s *Set[C]) CloseAll(reason messages.CloseReason) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	for _, c := range all {
		c.Close(reason)
	}
}

// Wait waits until no connection is open, or returns an error if ctx ends first. Call it after
// CloseAll, when no more connections are added.
func (s *Set[C]) Wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		left := len(s.conns)
		if left == 0 {
			s.mu.Unlock()
			return nil
		}
		if s.empty == nil {
			s.empty = make(chan struct{})
		}
		empty := s.empty
		s.mu.Unlock()
		select {
		case <-empty:
		case <-ctx.Done():
			return fmt.Errorf("%d connections open: %w", left, context.Cause(ctx))
		}
	}
}
