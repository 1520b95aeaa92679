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
)

const (
	defaultBuffer = 1024
	// readersMax bounds the concurrent readers.
	readersMax = 64
	// bufferBytesMax bounds the buffer in bytes, too.
	bufferBytesMax = 8 << 20
	// heartbeat is how often a comment is sent on a silent stream.
	heartbeat = 15 * time.Second
	// streamWriteTimeout ends a stalled reader.
	streamWriteTimeout = 10 * time.Second
)

// stream serves GET /events: server-sent events. Readers share one buffer, in which each has a
// position. A reader that falls behind the buffer is disconnected, and reconnects with the id
// of the last event that it received.
type stream struct {
	own  bool // show events of game sessions and player sessions, too
	most int  // events in the buffer

	mu      sync.Mutex
	buffer  []shown // oldest first
	first   uint64  // number of the oldest
	bytes   int
	more    chan struct{} // closed at the next event
	readers int
	closed  bool
}

// shown is an event in the buffer.
type shown struct {
	kind     messages.EventKind
	name     string
	arn, typ string
	id       string
	frame    []byte
}

func newStream(o StreamOptions) *stream {
	return &stream{own: o.Own, most: cmp.Or(o.Buffer, defaultBuffer), more: make(chan struct{})}
}

// publish sends an event to all readers.
func (s *stream) publish(e *messages.Event, render func(*messages.Event) []byte) {
	if !e.Kind.Vendor() && e.Kind != messages.EventOperator && !s.own {
		return
	}
	id := publicID(e)
	frame := fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", id, oneLine(e.Type), render(e))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.buffer = append(s.buffer, shown{e.Kind, e.Name, e.ARN, e.Type, id, frame})
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

func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

// close ends all readers.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.more)
	}
}

// filter selects events of a reader; an empty list selects all.
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

// list reads a parameter that may be repeated, and that may have commas.
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
	_ = control.SetReadDeadline(time.Time{}) // the deadline of requests would end the stream
	send := func(b []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
		_, err := w.Write(b)
		return err == nil && control.Flush() == nil
	}
	if send([]byte(": events of this host\n\n")) {
		s.pump(r, next, f, send)
	}
	_ = control.SetWriteDeadline(time.Time{}) // the connection may have another request
}

// pump sends events from a number on, until the reader or the host ends.
func (s *stream) pump(r *http.Request, next uint64, f filter, send func([]byte) bool) {
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for {
		events, more, ok := s.from(next)
		if !ok {
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

// pumpMax is how many events a reader takes from the buffer at a time, so that the lock is held
// briefly.
const pumpMax = 64

// from returns events from a number on, and a channel that is closed when there are more; nil
// after the end of the stream. It returns false if the reader is too slow.
func (s *stream) from(next uint64) ([]shown, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next < s.first {
		return nil, nil, false
	}
	events := s.buffer[next-s.first:]
	more := s.more
	if s.closed {
		more = nil
	}
	return slices.Clone(events[:min(len(events), pumpMax)]), more, true
}

// enter returns the start of a new reader: after the event with the id last; at the oldest if
// the buffer no longer has that event; after the newest without an id.
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
	return s.first + uint64(i+1), true // -1 + 1 is the oldest
}

func (s *stream) leave() {
	s.mu.Lock()
	s.readers--
	s.mu.Unlock()
}

// Since returns some of the events that the stream keeps, from number n on, each a JSON
// object; the number after them; and a channel that is closed when there are more. Events that
// are not kept any more are left out. Without a channel, the events have ended.
func (d *Dispatcher) Since(n uint64) (events [][]byte, next uint64, more <-chan struct{}) {
	s := d.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(max(n, s.first), s.first+uint64(len(s.buffer)))
	for _, e := range s.buffer[n-s.first:] {
		if len(events) == pumpMax {
			break
		}
		events = append(events, e.data())
	}
	if !s.closed {
		more = s.more
	}
	return events, n + uint64(len(events)), more
}

// data returns the JSON of an event without the fields around it.
func (e *shown) data() []byte {
	_, data, _ := bytes.Cut(e.frame, []byte("\ndata: "))
	return bytes.TrimSuffix(data, []byte("\n\n"))
}
