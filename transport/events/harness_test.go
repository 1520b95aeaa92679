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

// shelf is an Outbox on a store, like the host's.
type shelf struct {
	store.Memory
	mu     sync.Mutex
	refuse error                // error of all commits
	during func()               // called once during a Load, which does not see its changes
	slow   func() time.Duration // returns the time that reading a record or a commit takes
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

// left returns the ids in the outbox.
func (s *shelf) left() (ids []string) {
	_ = s.Load(func(id string, _ []byte) error { ids = append(ids, id); return nil })
	return ids
}

// put commits an event, as an actor does.
func (s *shelf) put(e messages.Event) {
	s.Memory.Commit([]store.Change{store.Put(store.Event, e.ID, e)}, nil)
}

// post commits an event and posts it to a dispatcher.
func (s *shelf) post(d *Dispatcher, e messages.Event) {
	s.put(e)
	d.Post(e)
}

const topic = "arn:aws:sns:us-east-1:123456789012:placements"

// placed returns the n-th event, which is about a placement.
func placed(n int, placement string) messages.Event {
	return messages.Event{
		ID: fmt.Sprintf("%026d", n), Kind: messages.EventPlacement, Type: "PlacementFulfilled", Time: time.Now(),
		Name: "queue-1", ARN: "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/queue-1", Target: topic,
		Detail: fmt.Appendf(nil, `{"type":"PlacementFulfilled","placementId":%q,"port":"7000","n":%d}`, placement, n),
	}
}

// bubble is a test in virtual time with its own network.
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

// serve serves HTTP at an address of the test's network.
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

// begin starts a dispatcher and closes it at the end of the test.
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

// got is a request that a receiver got.
type got struct {
	at     time.Time
	header http.Header
	body   string
}

// receiver is a server for webhooks.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	all    []got
	answer func(n int, g got) int // status of the n-th response; nil: 200
	held   chan struct{}          // if not nil, requests wait until it is closed
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

// got returns the requests so far, after all running deliveries have finished or are waiting.
func (r *receiver) got() []got {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// empty fails the test if the outbox is not empty after all running deliveries have finished or are waiting.
func (s *shelf) empty(t *bubble) {
	t.Helper()
	synctest.Wait()
	if left := s.left(); len(left) > 0 {
		t.Fatalf("%d events are in the outbox, the first %s", len(left), left[0])
	}
}

// fake is an outlet without a network, for virtual time.
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

// instead replaces the outlet of a sink that has not had an event yet.
func (d *Dispatcher) instead(n int, o outlet) {
	d.current.Load().mu.Lock()
	defer d.current.Load().mu.Unlock()
	d.current.Load().sinks[n].outlet = o
}

var errDown = errors.New("down")

// lines is a log that the test can read.
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
