package kcp

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// recorder is the layer above a Conn. It checks that its methods are called one at a time, and not after OnClosed.
type recorder struct {
	t        testing.TB
	conn     transport.Conn
	onUnit   func(unit []byte)
	accepted int

	inside atomic.Int32
	mu     sync.Mutex
	units  [][]byte
	alive  int
	pongs  []string
	ends   []transport.End
	endAt  time.Time
}

func (r *recorder) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	r.accepted++
	r.conn = c
	return r, 0
}

func (r *recorder) enter() func() {
	if r.inside.Add(1) != 1 {
		r.t.Error("two calls of the handler at a time")
	}
	r.mu.Lock()
	ended := len(r.ends) > 0
	r.mu.Unlock()
	if ended {
		r.t.Error("a call after OnClosed")
	}
	return func() { r.inside.Add(-1) }
}

func (r *recorder) OnUnit(unit []byte) {
	defer r.enter()()
	if r.onUnit != nil {
		r.onUnit(unit)
	}
	r.mu.Lock()
	r.units = append(r.units, slices.Clone(unit))
	r.mu.Unlock()
}

func (r *recorder) OnAlive(pong []byte) {
	defer r.enter()()
	r.mu.Lock()
	defer r.mu.Unlock()
	if pong == nil {
		r.alive++
		return
	}
	r.pongs = append(r.pongs, string(pong))
}

func (r *recorder) OnClosed(end transport.End) {
	defer r.enter()()
	r.mu.Lock()
	r.ends, r.endAt = append(r.ends, end), time.Now()
	r.mu.Unlock()
}

func (r *recorder) got() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.units)
}

func (r *recorder) end(t testing.TB) transport.End {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ends) != 1 {
		t.Fatalf("%d ends, want 1", len(r.ends))
	}
	return r.ends[0]
}

func (r *recorder) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ends) == 0
}

// listening is the layer above a Stream.
type listening struct {
	t         testing.TB
	onMessage func(b []byte)

	inside    atomic.Int32
	mu        sync.Mutex
	messages  [][]byte
	datagrams [][]byte
	ends      []StreamEnd
}

func (l *listening) enter() func() {
	if l.inside.Add(1) != 1 {
		l.t.Error("two calls of the stream's handler at a time")
	}
	return func() { l.inside.Add(-1) }
}

func (l *listening) OnMessage(b []byte) {
	defer l.enter()()
	if l.onMessage != nil {
		l.onMessage(b)
	}
	l.mu.Lock()
	l.messages = append(l.messages, slices.Clone(b))
	l.mu.Unlock()
}

func (l *listening) OnDatagram(b []byte) {
	l.mu.Lock()
	l.datagrams = append(l.datagrams, slices.Clone(b))
	l.mu.Unlock()
}

func (l *listening) OnClosed(end StreamEnd) {
	defer l.enter()()
	l.mu.Lock()
	l.ends = append(l.ends, end)
	l.mu.Unlock()
}

func (l *listening) got() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.messages)
}

func (l *listening) end(t testing.TB) StreamEnd {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ends) != 1 {
		t.Fatalf("%d ends of the stream, want 1", len(l.ends))
	}
	return l.ends[0]
}

// outbox is a wire.Source.
type outbox struct {
	mu     sync.Mutex
	frames []*wire.Frame
}

func (o *outbox) add(f *wire.Frame) {
	o.mu.Lock()
	o.frames = append(o.frames, f)
	o.mu.Unlock()
}

func (o *outbox) Drain(sink wire.Sink) (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for room := true; room && len(o.frames) > 0; {
		f := o.frames[0]
		o.frames = o.frames[1:]
		room = sink.Append(f)
		f.Release()
	}
	return len(o.frames) > 0
}

func (o *outbox) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.frames)
}

// frameOf returns a frame of about n bytes that identifies its number.
func frameOf(number, n int) *wire.Frame {
	return wire.NewFrame(&wire.Header{OpCode: 7, Sender: int32(number + 1), Payload: make([]byte, n)})
}

func senderOf(t testing.TB, unit []byte) int {
	t.Helper()
	packet, err := wire.SplitUnit(unit)
	var h wire.Header
	if err == nil {
		err = h.Parse(packet)
	}
	if err != nil {
		t.Fatalf("not a unit: %v", err)
	}
	return int(h.Sender) - 1
}

// pair is a Conn and a Stream on one network.
type pair struct {
	host   *recorder
	conn   *Conn
	source *outbox
	stream *Stream
	client *listening
	a, b   *end // a is the host's end, b the client's
	l      *Listener
	count  *counters.Set // the host's counters
}

// connect makes a pair that has logged in and knows its round trip. It works only inside a synctest bubble.
func connect(t testing.TB, seed uint64, w weather) *pair {
	p := connectFresh(t, seed, weather{}, Options{}, DialOptions{})
	p.conn.LoggedIn()
	p.conn.SetSource(p.source)
	p.say(t, 1)
	p.hear(t, 1)
	time.Sleep(50 * time.Millisecond)
	synctest.Wait()
	p.host.units, p.client.messages = nil, nil
	p.a.out.set(w)
	p.b.out.set(w)
	return p
}

// connectFresh makes a pair that has not logged in.
func connectFresh(t testing.TB, seed uint64, w weather, o Options, d DialOptions) *pair {
	p := &pair{source: new(outbox), count: new(counters.Set)}
	p.a, p.b = network(seed, w)
	p.host, p.client = &recorder{t: t}, &listening{t: t}
	o.Counters = p.count
	p.l = NewListener(o, p.host)
	e := p.l.accept(p.a)
	if e == nil {
		t.Fatal("refused")
	}
	p.conn = p.host.conn.(*Conn)
	p.a.in.connect(e)
	p.stream = newStream(p.b, d, p.client)
	p.b.in.connect(p.stream.e)
	return p
}

// hear sends n small frames from the host to the client.
func (p *pair) hear(t testing.TB, n int) {
	t.Helper()
	for i := range n {
		p.source.add(frameOf(i, 20))
	}
	p.conn.Flush()
}

// say sends n small messages from the client to the host.
func (p *pair) say(t testing.TB, n int) {
	t.Helper()
	for i := range n {
		if err := p.stream.Send(t.Context(), frameBytes(i, 20)); err != nil {
			t.Fatal(err)
		}
	}
}

func frameBytes(number, n int) []byte {
	f := frameOf(number, n)
	defer f.Release()
	return slices.Clone(f.Unit())
}

// waiting returns how many unacknowledged segments KCP has.
func (e *engine) waiting() int {
	e.lock()
	defer e.leave()
	return e.kcp.WaitSnd()
}

func (e *engine) phaseNow() phase {
	e.lock()
	defer e.leave()
	return e.phase
}

// finish ends both sides of a pair, so that the bubble can end.
func (p *pair) finish() {
	p.stream.Abort()
	p.a.close(errPathClosed)
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// in runs a test in a bubble.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// named runs a subtest in a bubble.
func named(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { in(t, f) })
}
