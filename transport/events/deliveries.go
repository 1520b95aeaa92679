package events

import (
	"cmp"
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
)

// deliveries delivers events to one set of sinks. post and close are safe for concurrent use. The other
// methods require mu, or are called by the keeper goroutine only.
type deliveries struct {
	log    zerolog.Logger
	count  *counters.Set
	origin origin
	outbox Outbox
	dial   func(ctx context.Context, network, address string) (net.Conn, error) // opens connections; nil: the operating system
	began  time.Time
	sinks  []*sink

	attempts context.Context // context of all attempts; cancelled when Close stops waiting for them
	cutOff   context.CancelFunc
	running  sync.WaitGroup // counts delivering goroutines
	keeping  sync.WaitGroup // counts the keeper goroutine
	wake     chan struct{}  // wakes the keeper
	finish   chan struct{}  // closed to end the keeper
	ended    chan struct{}  // closed when all goroutines have ended

	// The fields below are guarded by mu, which is never held while waiting.
	mu        sync.Mutex
	items     map[string]*item // all items in memory, by id
	unwritten []*item          // items that must be written to the outbox
	unmarked  bool             // whether a sink has received an event that another sink still has in its queue
	behind    sinkSet          // sinks with events that are in the outbox but not in their queues
	missed    sinkSet          // sinks in behind that got another such event since the scan began
	early     []string         // ids of events that were delivered from the outbox before their post call; at most earlyMax
	warned    map[string]bool  // targets without a sink that were already logged
	closed    bool
}

// sinkSet is a set of sinks. Each sink has one bit.
type sinkSet uint32

// item is an event in memory.
type item struct {
	event     messages.Event
	wants     sinkSet
	has       sinkSet // sinks that have received or dropped it
	queued    sinkSet // sinks that have it in their queues
	stored    sinkSet // value of has in the outbox
	unwritten bool    // whether it is being written, which is the only reason why it is in memory
	posted    bool    // whether post was called, or the event is from an earlier process
}

const earlyMax = 256 // maximum length of deliveries.early; events that are removed from it because of this are delivered again

// left returns the sinks that want the event, have not received it, and do not have it in their queues.
func (i *item) left() sinkSet { return i.wants &^ i.has &^ i.queued }

// deliver starts deliveries, which begin with the events in the outbox. The options must be valid.
func deliver(o *Options) *deliveries {
	d := &deliveries{
		log: o.Log, count: o.Counters, origin: origin{o.Region, o.Account}, outbox: o.Outbox, began: time.Now(),
		items: make(map[string]*item), warned: make(map[string]bool),
		dial: o.DialContext, wake: make(chan struct{}, 1), finish: make(chan struct{}), ended: make(chan struct{}),
	}
	d.attempts, d.cutOff = context.WithCancel(context.Background())
	for i, s := range o.Sinks {
		d.sinks = append(d.sinks, newSink(d, s, 1<<i, cmp.Or(o.queue, queueMax)))
		d.behind |= 1 << i // the previous process may have left events
	}
	d.keeping.Go(d.keep)
	return d
}

// post delivers an event that is already in the outbox. It never blocks. After close it does nothing.
func (d *deliveries) post(e messages.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	if i := d.items[e.ID]; i != nil { // the keeper has already read it from the outbox
		i.posted = true
		return
	}
	if n := slices.Index(d.early, e.ID); n >= 0 { // it has already been read and delivered
		d.early = slices.Delete(d.early, n, n+1)
		return
	}
	i := &item{event: e, wants: d.wanted(&e), posted: true}
	full := d.queue(i, i.left()&^d.behind)
	d.behind |= full
	d.missed |= i.left()
	d.hold(i)
}

// close ends all deliveries, as described at Dispatcher.Close. It is idempotent.
func (d *deliveries) close(ctx context.Context) {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	d.mu.Unlock()
	if !first {
		<-d.ended
		return
	}
	stop := context.AfterFunc(ctx, d.cutOff)
	d.running.Wait()
	stop()
	d.cutOff()
	close(d.finish)
	d.keeping.Wait()
	for _, s := range d.sinks {
		s.outlet.close()
	}
	d.count.EventsWaiting.Store(0)
	close(d.ended)
}

// wanted returns the sinks that subscribe to an event. The first time that a target has no sink, it logs a
// warning.
func (d *deliveries) wanted(e *messages.Event) (wants sinkSet) {
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

// queue adds an item to the queues of the sinks in to. It returns the sinks whose queues are full.
func (d *deliveries) queue(i *item, to sinkSet) (full sinkSet) {
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

// hold keeps an item in memory while a queue has it. Otherwise it schedules writing the item to the outbox.
func (d *deliveries) hold(i *item) {
	d.items[i.event.ID] = i
	if i.queued != 0 {
		return
	}
	if i.left() != 0 && i.has == i.stored { // the outbox has the current value of has
		delete(d.items, i.event.ID)
		return
	}
	i.unwritten = true
	d.unwritten = append(d.unwritten, i)
	d.look()
}

// done records that a sink has received or dropped an item.
func (d *deliveries) done(s *sink, i *item) {
	i.queued &^= s.bit
	i.has |= s.bit
	d.hold(i)
	if i.queued != 0 && !d.unmarked {
		d.unmarked = true
		d.look()
	}
	if d.behind&s.bit != 0 && s.hasRoom() {
		d.look()
	}
}

func (d *deliveries) look() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}
