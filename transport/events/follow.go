package events

import (
	"context"
	"sync"
	"time"

	"troupe/messages/coord"
)

const (
	followFor     = time.Minute      // how long the other nodes are followed after the last reader has left, so that it can return
	followWait    = 10 * time.Second // maximum time that Own waits for an event
	followedBytes = 1 << 20          // maximum bytes of the events in one answer, if there is more than one
)

// watch follows the other nodes of a cluster while there are readers.
type watch struct {
	mu      sync.Mutex
	readers int
	stop    context.CancelFunc // nil: nothing is followed
	late    *time.Timer        // stops after followFor
	closed  bool
	work    sync.WaitGroup
}

// Watch says that somebody reads events, until leave is called.
func (d *Dispatcher) Watch() (leave func()) {
	w := &d.watch
	if d.o.Follow == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readers++
	if w.late != nil {
		w.late.Stop()
	}
	if w.stop == nil && !w.closed {
		ctx, cancel := context.WithCancel(context.Background())
		w.stop = cancel
		w.work.Go(func() { d.o.Follow(ctx) })
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.readers--; w.readers == 0 && !w.closed {
			w.late = time.AfterFunc(followFor, w.end)
		}
	}
}

// end stops to follow if there are still no readers.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readers == 0 && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

func (w *watch) close() {
	w.mu.Lock()
	w.closed = true
	if w.late != nil {
		w.late.Stop()
	}
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
	w.mu.Unlock()
	w.work.Wait()
}

// Add shows an event of another node to readers. An event that they have seen already is left out.
func (d *Dispatcher) Add(e coord.Published) { d.stream.add(&e, true) }

// Own returns events that this host has published itself, from a number on, and the number of the next request. If
// there are none, it waits for one, for some seconds or until ctx ends.
func (d *Dispatcher) Own(ctx context.Context, since uint64) coord.FollowedEvents {
	timer := time.NewTimer(followWait)
	defer timer.Stop()
	for {
		kept, first, more := d.stream.from(since)
		answer := coord.FollowedEvents{Next: first}
		bytes := 0
		for i := range kept {
			e := &kept[i]
			if bytes += len(e.frame); bytes > followedBytes && len(answer.Events) > 0 {
				return answer
			}
			if !e.followed {
				answer.Events = append(answer.Events, coord.Published{Kind: e.kind, ID: e.id, Name: e.name, ARN: e.arn, Type: e.typ, Data: e.data()})
			}
			answer.Next++
		}
		since = answer.Next
		if len(answer.Events) > 0 || more == nil {
			return answer
		}
		if len(kept) > 0 { // only followed ones
			continue
		}
		select {
		case <-more:
		case <-timer.C:
			return answer
		case <-ctx.Done():
			return answer
		}
	}
}
