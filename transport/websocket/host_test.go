package websocket

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/transporttest/memnet"
)

// patience ends a test that hangs. Only tests of the kernel's behaviour wait in real time.
const patience = 3 * time.Minute

// onSockets is the Options.Addr of a host on real sockets.
const onSockets = "127.0.0.1:0"

// recorder is a transport.Acceptor and the Handler of each of its connections.
type recorder struct {
	onAccept func(c transport.Conn) messages.CloseReason // nil accepts
	onUnit   func(c transport.Conn, unit []byte)
	conns    chan *peer
}

func newRecorder() *recorder { return &recorder{conns: make(chan *peer, 4096)} }

// Accept implements transport.Acceptor.
func (r *recorder) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	if r.onAccept != nil {
		if reason := r.onAccept(c); reason != 0 {
			return nil, reason
		}
	}
	p := &peer{Conn: c, r: r, ended: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	r.conns <- p
	return p, 0
}

// peer is the host's side of one connection.
type peer struct {
	transport.Conn
	r       *recorder
	ended   chan struct{}
	mu      sync.Mutex
	changed *sync.Cond
	units   []string
	pongs   []string
	alive   int
	closes  int
	end     transport.End
}

func (p *peer) note(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.changed.Broadcast()
}

func (p *peer) OnUnit(b []byte) {
	if p.r.onUnit != nil {
		p.r.onUnit(p.Conn, b)
	}
	p.note(func() { p.units = append(p.units, string(b)) })
}
func (p *peer) OnAlive(pong []byte) {
	p.note(func() {
		p.alive++
		if pong != nil {
			p.pongs = append(p.pongs, string(pong))
		}
	})
}
func (p *peer) OnClosed(end transport.End) {
	p.note(func() { p.end = end; p.closes++ })
	if p.closes == 1 {
		close(p.ended)
	}
}

// await waits until ok returns true.
func (p *peer) await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() { p.note(func() { late = true }) })
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ok() {
		if late {
			t.Fatalf("%s: units %d, pongs %q, alive %d, closes %d", what, len(p.units), p.pongs, p.alive, p.closes)
		}
		p.changed.Wait()
	}
}

func (p *peer) awaitEnd(t testing.TB) transport.End {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatal("the connection did not end")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closes != 1 {
		t.Errorf("OnClosed ran %d times", p.closes)
	}
	return p.end
}

// host is a Listener that serves a recorder.
type host struct {
	*Listener
	*recorder
	count   *counters.Set
	network *memnet.Network // nil for the kernel's
	node    *memnet.Node    // of all clients; if nil, each has its own
}

// serve starts a host. It listens on loopback if the options have an address or a listener,
// otherwise in memory inside a synctest bubble.
func serve(t testing.TB, opt Options, r *recorder) *host {
	t.Helper()
	h := &host{recorder: r}
	if opt.Listener == nil && opt.Addr == "" {
		h.network = memnet.New(memnet.Seed(t))
		t.Cleanup(h.network.Close)
		var err error
		if opt.Listener, err = h.network.Node().Listen(0); err != nil {
			t.Fatal(err)
		}
	}
	if opt.Counters == nil {
		opt.Counters = new(counters.Set)
	}
	h.count = opt.Counters
	l, err := Listen(opt)
	if err != nil {
		t.Fatal(err)
	}
	h.Listener = l
	served := make(chan error, 1)
	go func() { served <- l.Serve(r) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		l.CloseAll(messages.CloseGoingAway)
		if err := l.Wait(ctx); err != nil {
			t.Error(err)
		}
		if n := opt.Counters.Connections.Total(); n != 0 {
			t.Errorf("connections gauge is %d in the end", n)
		}
		if a := opt.Admission; a != nil && a.Pending() != 0 {
			t.Errorf("%d tickets left over", a.Pending())
		}
	})
	return h
}

// inBubble runs a subtest in virtual time.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// connect opens a connection and returns both of its sides.
func (h *host) connect(t testing.TB) (*client, *peer) {
	t.Helper()
	cl := h.dial(t, "/websocket")
	return cl, h.accepted(t)
}

func (h *host) accepted(t testing.TB) *peer {
	t.Helper()
	select {
	case p := <-h.recorder.conns:
		return p
	case <-time.After(patience):
		t.Fatal("nothing was accepted")
		return nil
	}
}

// piped starts a connection on nc, which is one end of a net.Pipe, and returns it.
func piped(t testing.TB, opt Options, r *recorder, nc net.Conn) *Conn {
	t.Helper()
	opt = opt.withDefaults()
	l := newListener(opt)
	l.acceptor = r
	c := l.newConn(nc, addrPort(nc.RemoteAddr()), nil, nil)
	l.start(c)
	return c
}

// frame returns a frame whose payload is p.
func frame(p []byte) *wire.Frame { return wire.NewFrame(&wire.Header{OpCode: 7, Payload: p}) }

// queue is a wire.Source that any goroutine may fill.
type queue struct {
	mu     sync.Mutex
	frames []*wire.Frame
	busy   bool
	onBusy func()
}

func (q *queue) put(f *wire.Frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.frames = append(q.frames, f)
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.frames)
}

// Drain implements wire.Source.
func (q *queue) Drain(sink wire.Sink) (more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy {
		panic("two drains at once")
	}
	q.busy = true
	defer func() { q.busy = false }()
	if q.onBusy != nil {
		q.onBusy()
	}
	for len(q.frames) > 0 {
		f := q.frames[0]
		q.frames = q.frames[1:]
		room := sink.Append(f)
		f.Release()
		if !room {
			break
		}
	}
	return len(q.frames) > 0
}
