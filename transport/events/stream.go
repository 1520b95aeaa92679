package events

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
)

const (
	defaultBuffer      = 1024             // events
	bufferBytesMax     = 8 << 20          // maximum bytes of the buffer
	readersMax         = 64               // concurrent readers
	heartbeat          = 15 * time.Second // interval of comments on a stream without events
	streamWriteTimeout = 10 * time.Second // maximum time for a write to a reader
	// maximum events that a reader copies from the buffer at a time, so that it holds the lock briefly
	pumpMax = 64
)

// stream serves GET /events as server-sent events. All readers share one buffer, and each has a position in
// it. A reader whose position is no longer in the buffer is disconnected. It reconnects with the id of the
// last event that it received.
type stream struct {
	own  bool // whether to show events of game sessions and player sessions
	most int  // maximum number of events in the buffer

	mu      sync.Mutex
	buffer  []shown // oldest first
	first   uint64  // number of the oldest event
	bytes   int
	more    chan struct{} // closed at the next event
	readers int
	closed  bool
}

type shown struct {
	kind     messages.EventKind
	name     string
	arn, typ string
	id       string
	frame    []byte
	followed bool // another node has published it
}

func newStream(o StreamOptions) *stream {
	return &stream{own: o.Own, most: cmp.Or(o.Buffer, defaultBuffer), more: make(chan struct{})}
}

// publish shows an event of this host to readers.
func (d *Dispatcher) publish(e *messages.Event) {
	if !e.Kind.Vendor() && e.Kind != messages.EventOperator && !d.stream.own {
		return
	}
	data := origin{d.o.Region, d.o.Account}.render(e)
	if d.o.Node != "" {
		node := encode(map[string]string{"node": d.o.Node})
		data = append(append(node[:len(node)-1], ','), data[1:]...)
	}
	d.stream.add(&coord.Published{Kind: e.Kind, ID: publicID(e), Name: e.Name, ARN: e.ARN, Type: e.Type, Data: data}, false)
}

// add puts an event into the buffer, unless another node has published it and it is already there.
func (s *stream) add(e *coord.Published, followed bool) {
	oneLine := strings.NewReplacer("\r", " ", "\n", " ").Replace
	frame := fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", oneLine(e.ID), oneLine(e.Type), oneLine(string(e.Data)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || followed && slices.ContainsFunc(s.buffer, func(known shown) bool { return known.id == e.ID }) {
		return
	}
	s.buffer = append(s.buffer, shown{e.Kind, e.Name, e.ARN, e.Type, e.ID, frame, followed})
	s.bytes += len(frame)
	for len(s.buffer) > s.most || s.bytes > bufferBytesMax && len(s.buffer) > 1 {
		s.bytes -= len(s.buffer[0].frame)
		s.buffer[0] = shown{}
		s.buffer = s.buffer[1:]
		s.first++
	}
	close(s.more)
	s.more = make(chan struct{})
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.more)
	}
}

// filter selects the events for a reader. An empty list selects all.
type filter struct{ queues, matchmakers, types []string }

func (f *filter) takes(e *shown) bool {
	if len(f.types) > 0 && !slices.Contains(f.types, e.typ) {
		return false
	}
	if len(f.queues) == 0 && len(f.matchmakers) == 0 {
		return true
	}
	names := f.queues
	if e.kind == messages.EventMatchmaking {
		names = f.matchmakers
	}
	return e.kind.Vendor() && (slices.Contains(names, e.name) || slices.Contains(names, e.arn))
}

// list splits the values of a parameter, which may be repeated and may contain commas.
func list(values []string) (all []string) {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
	}
	return all
}

func (s *stream) serve(w http.ResponseWriter, r *http.Request) {
	next, ok := s.enter(r.Header.Get("Last-Event-ID"))
	if !ok {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many readers, or the host stops", http.StatusServiceUnavailable)
		return
	}
	defer s.leave()
	query := r.URL.Query()
	f := filter{list(query["queue"]), list(query["matchmaker"]), list(query["types"])}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the read deadline of requests would end the stream
	send := func(b []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
		_, err := w.Write(b)
		return err == nil && control.Flush() == nil
	}
	if send([]byte(": events of this host\n\n")) {
		s.pump(r, next, f, send)
	}
	_ = control.SetWriteDeadline(time.Time{}) // the connection may be used for another request
}

// pump sends events, starting with number next, until the reader disconnects or the stream ends.
func (s *stream) pump(r *http.Request, next uint64, f filter, send func([]byte) bool) {
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for {
		events, first, more := s.from(next)
		if first != next { // the reader is too slow
			return
		}
		for i := range events {
			if f.takes(&events[i]) && !send(events[i].frame) {
				return
			}
		}
		if next += uint64(len(events)); len(events) > 0 {
			continue
		}
		if more == nil { // the stream has ended
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		case <-alive.C:
			if !send([]byte(":\n\n")) {
				return
			}
		}
	}
}

// from returns stored events, starting with number next, or with the nearest stored one. first is the number
// of the first returned event. more is closed when there are further events; it is nil after the end of the
// stream.
func (s *stream) from(next uint64) (events []shown, first uint64, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = min(max(next, s.first), s.first+uint64(len(s.buffer)))
	events = s.buffer[first-s.first:]
	if !s.closed {
		more = s.more
	}
	return slices.Clone(events[:min(len(events), pumpMax)]), first, more
}

// enter returns the position of a new reader: after the event with the id last, or at the oldest event if
// that event is no longer stored. Without an id, it is after the newest event.
func (s *stream) enter(last string) (next uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.readers >= readersMax {
		return 0, false
	}
	s.readers++
	if last == "" {
		return s.first + uint64(len(s.buffer)), true
	}
	i := slices.IndexFunc(s.buffer, func(e shown) bool { return e.id == last })
	return s.first + uint64(i+1), true // -1 + 1 is the oldest event
}

func (s *stream) leave() {
	s.mu.Lock()
	s.readers--
	s.mu.Unlock()
}

// Since returns stored events as JSON objects, starting with number n. next is the number that follows them.
// more is closed when there are further events. Events that are no longer stored are skipped. If more is nil,
// there will be no further events.
func (d *Dispatcher) Since(n uint64) (events [][]byte, next uint64, more <-chan struct{}) {
	kept, first, more := d.stream.from(n)
	for i := range kept {
		events = append(events, kept[i].data())
	}
	return events, first + uint64(len(events)), more
}

// data returns the event as JSON.
func (e *shown) data() []byte {
	_, data, _ := bytes.Cut(e.frame, []byte("\ndata: ")) // only the data field of the frame
	return bytes.TrimSuffix(data, []byte("\n\n"))
}
