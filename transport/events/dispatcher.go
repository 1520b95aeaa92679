package events

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"troupe/messages"
)

// Dispatcher delivers events to sinks and to the readers of the stream. It is safe for concurrent use.
type Dispatcher struct {
	o       Options
	stream  *stream
	watch   watch
	current atomic.Pointer[deliveries]

	mu     sync.Mutex // held by Replace and Close
	closed bool       // guarded by mu
}

// New checks the options and starts a Dispatcher, which begins with the events in the outbox.
func New(o Options) (*Dispatcher, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	d := &Dispatcher{o: o, stream: newStream(o.Stream)}
	d.current.Store(deliver(&o))
	return d, nil
}

// Post delivers an event that is already in the outbox. It never blocks.
func (d *Dispatcher) Post(e messages.Event) {
	d.publish(&e)
	d.current.Load().post(e)
}

// ServeHTTP serves GET /events.
func (d *Dispatcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer d.Watch()()
	d.stream.serve(w, r)
}

// Replace replaces the sinks. Running deliveries may finish until ctx ends. Undelivered events then go to the
// new sinks that subscribe to them and have not received them. If the new sinks are invalid, or after Close,
// nothing changes.
func (d *Dispatcher) Replace(ctx context.Context, sinks []SinkOptions) error {
	o := d.o
	o.Sinks = sinks
	if err := o.validate(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.current.Load().close(ctx) // events that are posted in between are read from the outbox by the new deliveries
	d.current.Store(deliver(&o))
	return nil
}

// Close ends the stream and all deliveries. Running deliveries may finish until ctx ends. Undelivered events
// stay in the outbox. The outbox is not used after Close has returned. Close is idempotent.
func (d *Dispatcher) Close(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.watch.close()
	d.stream.close()
	d.current.Load().close(ctx)
}
