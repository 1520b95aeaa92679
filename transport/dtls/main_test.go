package dtls

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/messages/counters"
	"troupe/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// certificate and roots belong to the test host localhost.
var certificate, roots = transporttest.Trusted()

// inbox is a Handler that stores received records.
type inbox struct {
	a      *Association
	got    chan []byte
	closed chan error
}

func newInbox(a *Association) *inbox {
	return &inbox{a: a, got: make(chan []byte, 1024), closed: make(chan error, 2)}
}

func (i *inbox) OnRecord(plain []byte) {
	select {
	case i.got <- append([]byte(nil), plain...):
	default:
	}
}

func (i *inbox) OnClosed(err error) { i.closed <- err }

// acceptAll accepts every association and passes its inbox to the test.
type acceptAll struct{ new chan *inbox }

func (s *acceptAll) Accept(a *Association) Handler {
	i := newInbox(a)
	select {
	case s.new <- i:
	default:
	}
	return i
}

// server is an Endpoint, either on a simulated network or, for foreign peers, on loopback (serve).
type server struct {
	*Endpoint
	testing.TB
	count *counters.Set
	new   chan *inbox
}

func serve(t testing.TB, change func(o *Options, s *acceptAll)) *server {
	t.Helper()
	acc := &acceptAll{new: make(chan *inbox, 64)}
	o := testOptions()
	if change != nil {
		change(&o, acc)
	}
	s := listen(t, o, acc)
	s.new = acc.new
	return s
}

func testOptions() Options {
	return Options{Addr: "127.0.0.1:0", Certificate: func() *tls.Certificate { return certificate }, Counters: new(counters.Set)}
}

func listen(t testing.TB, o Options, acc Acceptor) *server {
	t.Helper()
	e, err := Listen(o, acc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return &server{Endpoint: e, TB: t, count: o.Counters}
}

func (s *server) dial(change func(o *DialOptions)) *inbox {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var box *inbox
	o := DialOptions{Addr: s.Addr().String(), Roots: roots, ServerName: "localhost"}
	if change != nil {
		change(&o)
	}
	a, err := Dial(ctx, o, func(a *Association) Handler { box = newInbox(a); return box })
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { a.Close(); await(s, box.closed) })
	return box
}

// await receives one value. It fails the test if none comes within a minute.
func await[T any](t testing.TB, c chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return v
}

// counted waits until a counter is at least n.
func counted(t testing.TB, what string, get func() int64, n int64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); get() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: %d, want %d", what, get(), n)
		}
	}
}

// Stats are the numbers of an Endpoint's associations and unfinished handshakes.
type Stats struct{ Associations, HalfOpen int }

func (e *Endpoint) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Stats{Associations: len(e.peers), HalfOpen: len(e.halves)}
}
