package events

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
)

// Dispatcher gives events to sinks. Its methods may be called from any goroutine.
type Dispatcher struct {
	log    zerolog.Logger
	count  *counters.Set
	origin origin
	outbox Outbox
	began  time.Time
	stream *stream
	sinks  []*sink

	attempts context.Context // of all deliveries; ends when Close has waited enough
	cutOff   context.CancelFunc
	running  sync.WaitGroup // deliveries
	keeping  sync.WaitGroup // the keeper
	wake     chan struct{}  // has the keeper look
	finish   chan struct{}  // closed to end the keeper
	ended    chan struct{}  // closed when all has ended

	// guarded by mu; nothing waits while it is held
	mu        sync.Mutex
	items     map[string]*item // all that are in memory, by id
	unwritten []*item          // to be written to the outbox
	behind    sinkSet          // sinks for which more is in the outbox than in their queues
	missed    sinkSet          // of them, those that something was left for since the scan began
	early     []string         // ids of events that were read and are done, and may be posted yet; earlyMax at most
	warned    map[string]bool  // targets without a sink
	closed    bool
}

// sinkSet is a set of sinks, by their bits.
type sinkSet uint32

// item is an event in memory.
type item struct {
	event     messages.Event
	wants     sinkSet
	has       sinkSet // had it, or gave it up
	queued    sinkSet // have it in their queues
	stored    sinkSet // has, as the outbox knows it
	unwritten bool    // is being written: its place in memory is for that alone
	posted    bool    // or made before this process, which posts it no more
}

// earlyMax is how many events are remembered whose posts are to come. Those that are
// forgotten are delivered once more.
const earlyMax = 256

// left are the sinks that the event must still go to and that do not have it queued.
func (i *item) left() sinkSet { return i.wants &^ i.has &^ i.queued }

// New checks the options and starts a Dispatcher, which first reads the events that are in the outbox.
func New(o Options) (*Dispatcher, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Counters == nil {
		o.Counters = new(counters.Set)
	}
	d := &Dispatcher{
		log: o.Log, count: o.Counters, origin: origin{o.Region, o.Account}, outbox: o.Outbox, began: time.Now(),
		stream: newStream(o.Stream), items: make(map[string]*item), warned: make(map[string]bool),
		wake: make(chan struct{}, 1), finish: make(chan struct{}), ended: make(chan struct{}),
	}
	d.attempts, d.cutOff = context.WithCancel(context.Background())
	for i, s := range o.Sinks {
		d.sinks = append(d.sinks, newSink(d, s, 1<<i, cmp.Or(o.queue, queueMax)))
		d.behind |= 1 << i // what the last run left
	}
	d.keeping.Go(d.keep)
	return d, nil
}

// Post delivers an event that is already in the outbox. It never blocks.
func (d *Dispatcher) Post(e messages.Event) {
	d.stream.publish(&e, d.origin.render)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	if i := d.items[e.ID]; i != nil { // it has been read from the outbox by now
		i.posted = true
		return
	}
	if n := slices.Index(d.early, e.ID); n >= 0 { // and is done
		d.early = slices.Delete(d.early, n, n+1)
		return
	}
	i := &item{event: e, wants: d.wanted(&e), posted: true}
	full := d.queue(i, i.left()&^d.behind)
	d.behind |= full
	d.missed |= i.left()
	d.hold(i)
}

// ServeHTTP is GET /events.
func (d *Dispatcher) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.stream.serve(w, r) }

// Close ends the stream and all deliveries. Deliveries that are under way may finish
// until ctx ends. Undelivered events stay in the outbox. The Dispatcher does not use the
// outbox after Close has returned. Close is idempotent.
func (d *Dispatcher) Close(ctx context.Context) {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	d.mu.Unlock()
	if !first {
		<-d.ended
		return
	}
	d.stream.close()
	stop := context.AfterFunc(ctx, d.cutOff)
	d.running.Wait()
	stop()
	d.cutOff()
	d.noteAll()
	close(d.finish)
	d.keeping.Wait()
	for _, s := range d.sinks {
		s.close()
	}
	d.count.EventsWaiting.Store(0)
	close(d.ended)
}

// noteAll has the outbox told of what some sinks have and others do not.
func (d *Dispatcher) noteAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, i := range d.items {
		if !i.unwritten && i.has != i.stored {
			i.unwritten = true
			d.unwritten = append(d.unwritten, i)
		}
	}
}

// wanted are the sinks that want an event; a target that leads to none is warned of once.
func (d *Dispatcher) wanted(e *messages.Event) (wants sinkSet) {
	mapped := e.Target == ""
	for _, s := range d.sinks {
		if s.o.takes(e) {
			wants |= s.bit
		}
		mapped = mapped || s.o.maps(e.Target)
	}
	if !mapped && !d.warned[e.Target] && len(d.warned) < warnedMax {
		d.warned[e.Target] = true
		d.log.Warn().Str("target", e.Target).Str("queue", e.Name).Msg("no sink is configured for a notification target, its events are ignored")
	}
	return wants
}

// queue gives an item to sinks, and returns those that had no room.
func (d *Dispatcher) queue(i *item, to sinkSet) (full sinkSet) {
	for _, s := range d.sinks {
		switch {
		case to&s.bit == 0:
		case s.waiting >= s.most:
			full |= s.bit
		default:
			i.queued |= s.bit
			s.push(i)
		}
	}
	return full
}

// hold keeps an item in memory for as long as a queue has it, and writes it to the outbox otherwise.
func (d *Dispatcher) hold(i *item) {
	d.items[i.event.ID] = i
	if i.queued != 0 {
		return
	}
	if i.left() != 0 && i.has == i.stored { // the outbox has it as it is
		delete(d.items, i.event.ID)
		return
	}
	i.unwritten = true
	d.unwritten = append(d.unwritten, i)
	d.look()
}

// done notes that a sink has an item, or gave it up.
func (d *Dispatcher) done(s *sink, i *item) {
	i.queued &^= s.bit
	i.has |= s.bit
	d.hold(i)
	if d.behind&s.bit != 0 && s.hasRoom() {
		d.look()
	}
}

// look has the keeper look what there is to do.
func (d *Dispatcher) look() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}
