package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/transporttest/memnet"
)

// shelf is an outbox on a store, as the host has it.
type shelf struct {
	store.Memory
	mu     sync.Mutex
	refuse error                // of commits
	during func()               // runs once, within a Load that does not see what it does
	slow   func() time.Duration // takes that long for a record read, and for a commit
}

func (s *shelf) Load(f func(id string, value []byte) error) error {
	_, err := s.Memory.Load(store.Event, func(id string, value []byte) error {
		if during := s.during; during != nil {
			s.during = nil
			during()
		}
		if s.slow != nil {
			time.Sleep(s.slow())
		}
		return f(id, value)
	})
	return err
}

func (s *shelf) Commit(changes []Change, done func(error)) {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		done(refuse)
		return
	}
	var all []store.Change
	for _, c := range changes {
		all = append(all, store.Change{Kind: store.Event, ID: c.ID, Value: c.Value})
	}
	if s.slow == nil {
		s.Memory.Commit(all, done)
		return
	}
	go func() {
		time.Sleep(s.slow())
		s.Memory.Commit(all, done)
	}()
}

func (s *shelf) setRefuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// left are the ids in the outbox.
func (s *shelf) left() (ids []string) {
	_ = s.Load(func(id string, _ []byte) error { ids = append(ids, id); return nil })
	return ids
}

// put commits an event, as its maker does.
func (s *shelf) put(e messages.Event) {
	s.Memory.Commit([]store.Change{store.Put(store.Event, e.ID, e)}, nil)
}

// post commits an event and tells a dispatcher.
func (s *shelf) post(d *Dispatcher, e messages.Event) {
	s.put(e)
	d.Post(e)
}

const topic = "arn:aws:sns:us-east-1:123456789012:placements"

// placed is the n-th event, of a placement of a queue.
func placed(n int, placement string) messages.Event {
	return messages.Event{
		ID: fmt.Sprintf("%026d", n), Kind: messages.EventPlacement, Type: "PlacementFulfilled", Time: time.Now(),
		Name: "queue-1", ARN: "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/queue-1", Target: topic,
		Detail: fmt.Appendf(nil, `{"type":"PlacementFulfilled","placementId":%q,"port":"7000","n":%d}`, placement, n),
	}
}

// bubble is a test in virtual time, with a network of its own.
type bubble struct {
	*testing.T
	net memnet.Machine
}

func inBubble(t *testing.T, f func(t *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		t.Cleanup(network.Close)
		f(&bubble{t, network.Machine()})
	})
}

// serve answers HTTP requests at an address of the test's network.
func (t *bubble) serve(h http.Handler) (server *httptest.Server) {
	t.Helper()
	l, err := t.net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server = &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ReadTimeout: time.Minute}}
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// begin starts a dispatcher that the test closes.
func begin(t *bubble, s *shelf, o Options) *Dispatcher {
	t.Helper()
	o.Outbox, o.Region, o.Account, o.DialContext = s, "us-east-1", "000000000000", t.net.DialContext
	if o.Counters == nil {
		o.Counters = new(counters.Set)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(d) })
	return d
}

func end(d *Dispatcher) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d.Close(ctx)
}

// got is one request that a receiver had.
type got struct {
	at     time.Time
	header http.Header
	body   string
}

// receiver is a webhook's other end.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	all    []got
	answer func(n int, g got) int // status of the n-th request; nil: 200
	held   chan struct{}          // requests wait until it is closed; nil: they do not
}

func receive(t *bubble, answer func(n int, g got) int) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = t.serve(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		g := got{time.Now(), q.Header.Clone(), string(body)}
		r.all = append(r.all, g)
		status, held := http.StatusOK, r.held
		if r.answer != nil {
			status = r.answer(len(r.all)-1, g)
		}
		r.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-q.Context().Done():
			}
		}
		w.WriteHeader(status)
	}))
	return r
}

// got returns the requests so far, once nothing is on its way.
func (r *receiver) got() []got {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// empty fails the test unless the outbox is empty once nothing is on its way.
func (s *shelf) empty(t *bubble) {
	t.Helper()
	synctest.Wait()
	if left := s.left(); len(left) > 0 {
		t.Fatalf("%d events are in the outbox, the first %s", len(left), left[0])
	}
}

// fake is an outlet without a network, for fake time.
type fake struct {
	mu     sync.Mutex
	at     []time.Time
	ids    []string
	result func(n int) error
}

func (f *fake) deliver(_ context.Context, i *item) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.ids = append(f.at, time.Now()), append(f.ids, i.event.ID)
	if f.result == nil {
		return nil
	}
	return f.result(len(f.at) - 1)
}

func (f *fake) close() {}

// instead puts an outlet in the place of that of a sink that has had no event yet.
func (d *Dispatcher) instead(n int, o outlet) {
	d.current.Load().mu.Lock()
	defer d.current.Load().mu.Unlock()
	d.current.Load().sinks[n].outlet = o
}

var errDown = errors.New("down")

// lines is a log to look into.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.b.Bytes(), []byte(text))
}

func (l *lines) log() zerolog.Logger { return zerolog.New(l) }
