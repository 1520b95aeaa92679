package events

import (
	"context"
	"errors"
	"time"

	"troupe/messages/counters"
)

// refusal is the error of a receiver that will never accept this event.
type refusal struct{ error }

// outlet is the destination of a sink. Up to sink.width goroutines call deliver concurrently. close is called
// last.
type outlet interface {
	deliver(ctx context.Context, i *item) error
	close()
}

// sink is the queue of one sink. mu of its deliveries guards it.
type sink struct {
	d      *deliveries
	o      SinkOptions
	bit    sinkSet
	outlet outlet
	width  int // maximum concurrent deliveries
	most   int // maximum number of events in the queue

	lanes   map[string]*lane // subject of events -> lane
	ready   []*lane          // lanes whose first event may be delivered
	waiting int              // number of events in all lanes
	running int              // number of goroutines that deliver
	failing bool             // whether the last attempt failed, and this was logged
}

// lane is the queue of the events with one subject. They are delivered in sequence.
type lane struct {
	about    string
	items    []*item
	failures int // failed attempts of the first event
}

func newSink(d *deliveries, o SinkOptions, bit sinkSet, most int) *sink {
	s := &sink{d: d, o: o, bit: bit, width: width, most: most, lanes: make(map[string]*lane)}
	if o.Type == TypeFile {
		s.outlet, s.width = newFile(o, d.origin), 1
	} else {
		s.outlet = newWebhook(o, d.origin, d.dial)
	}
	return s
}

// hasRoom reports whether the queue is at most half full. Only then is it worth reading the outbox.
func (s *sink) hasRoom() bool { return s.waiting <= s.most/2 }

func (s *sink) push(i *item) {
	s.count(1)
	key := about(&i.event)
	l := s.lanes[key]
	if l == nil {
		l = &lane{about: key}
		s.lanes[key] = l
		s.start(l)
	}
	l.items = append(l.items, i)
}

func (s *sink) count(n int) {
	s.waiting += n
	s.d.count.EventsWaiting.Add(int64(n))
}

// start makes the first event of a lane ready for delivery.
func (s *sink) start(l *lane) {
	if s.d.closed {
		return
	}
	s.ready = append(s.ready, l)
	if s.running < s.width {
		s.running++
		s.d.running.Go(s.run)
	}
}

func (s *sink) run() {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(s.ready) > 0 && !d.closed {
		l := s.ready[0]
		s.ready = s.ready[1:]
		first := l.items[0]
		d.mu.Unlock()
		ctx, cancel := context.WithTimeout(d.attempts, attemptTimeout)
		err := s.outlet.deliver(ctx, first)
		cancel()
		d.mu.Lock()
		s.after(l, first, err)
	}
	s.running--
}

func (s *sink) after(l *lane, i *item, err error) {
	d := s.d
	var refused refusal
	switch {
	case err == nil:
		d.count.Events.Add(counters.EventDelivered, 1)
		if s.failing {
			s.failing = false
			d.log.Info().Str("sink", s.o.Name).Msg("events are delivered again")
		}
		s.next(l, i)
	case d.attempts.Err() != nil: // cancelled by close: the event stays in the outbox
	case errors.As(err, &refused), !time.Now().Before(i.event.Time.Add(giveUpAfter)):
		d.count.Events.Add(counters.EventDropped, 1)
		d.log.Warn().Err(err).Str("sink", s.o.Name).Str("event", i.event.ID).Str("type", i.event.Type).Msg("event dropped")
		s.next(l, i)
	default:
		d.count.Events.Add(counters.EventFailed, 1)
		if !s.failing {
			s.failing = true
			d.log.Warn().Err(err).Str("sink", s.o.Name).Msg("events cannot be delivered, they are tried again for an hour")
		}
		s.again(l, i)
	}
}

// next removes the first event of a lane and continues with the next one.
func (s *sink) next(l *lane, i *item) {
	s.count(-1)
	l.items, l.failures = l.items[1:], 0
	if len(l.items) > 0 {
		s.start(l)
	} else {
		delete(s.lanes, l.about)
	}
	s.d.done(s, i)
}

// again schedules another attempt for the first event of a lane. The last attempt is at the time when the
// event is old enough to be dropped (giveUpAfter).
func (s *sink) again(l *lane, i *item) {
	pause := min(retryMin<<min(l.failures, 10), retryMax)
	l.failures++
	pause = max(0, min(pause, time.Until(i.event.Time.Add(giveUpAfter))))
	time.AfterFunc(pause, func() {
		s.d.mu.Lock()
		defer s.d.mu.Unlock()
		s.start(l)
	})
}
