package internal_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"troupe/messages"
	"troupe/transport/internal/openset"
)

type conn struct{ closed messages.CloseReason }

func (c *conn) Close(r messages.CloseReason) { c.closed = r }

func TestWaitEndsWithTheLastConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s openset.Set[*conn]
		if err := s.Wait(t.Context()); err != nil {
			t.Fatalf("of an empty set: %v", err)
		}
		a, b := new(conn), new(conn)
		openset.Add(&s, a)
		openset.Add(&s, b)
		over := make(chan error, 1)
		go func() { over <- s.Wait(t.Context()) }()
		synctest.Wait()
		s.CloseAll(messages.CloseGoingAway)
		if a.closed != messages.CloseGoingAway || b.closed != messages.CloseGoingAway {
			t.Errorf("closed with %v and %v", a.closed, b.closed)
		}
		openset.Remove(&s, a)
		openset.Remove(&s, a)
		synctest.Wait()
		if len(over) > 0 || s.Len() != 1 {
			t.Errorf("one is open: %d of them, over: %v", s.Len(), len(over) > 0)
		}
		openset.Remove(&s, b)
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	var s openset.Set[*conn]
	openset.Add(&s, new(conn))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if err := s.Wait(ctx); !errors.Is(err, enough) {
		t.Error(err)
	}
}
