package websocket

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/transporttest"
)

// tape is a connection that plays the same input left times.
type tape struct {
	net.Conn
	input []byte
	at    int
	left  int
}

func (c *tape) Read(b []byte) (int, error) {
	if c.at == len(c.input) {
		if c.at, c.left = 0, c.left-1; c.left <= 0 {
			return 0, io.EOF
		}
	}
	n := copy(b, c.input[c.at:])
	c.at += n
	return n, nil
}

func (c *tape) Write(b []byte) (int, error)      { return len(b), nil }
func (c *tape) Close() error                     { return nil }
func (c *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (c *tape) SetWriteDeadline(time.Time) error { return nil }

// mute is a handler that counts units and their bytes.
type mute struct{ units, bytes int }

func (m *mute) OnUnit(b []byte)      { m.units++; m.bytes += len(b) }
func (m *mute) OnAlive([]byte)       {}
func (*mute) OnClosed(transport.End) {}

func skipRace(t testing.TB) {
	if raceEnabled {
		t.Skip("the race detector allocates, and sync.Pool drops at random under it")
	}
}

func tapeConn(input []byte) (*Conn, *tape) {
	nc := &tape{input: append([]byte(nil), input...)}
	c := newListener(Options{}.withDefaults()).newConn(nc, addrPort(nc.RemoteAddr()), nil, nil)
	c.loggedIn.Store(true)
	return c, nc
}

func TestInboundDoesNotAllocate(t *testing.T) {
	skipRace(t)
	for _, size := range []int{0, 100, 1000, 1017, 4096, 5000, 65536} {
		c, nc := tapeConn(binaryFrame(string(make([]byte, size))))
		m := new(mute)
		const n = 200
		run := func() { nc.left = n; _, _ = c.read(m) }
		run()
		if allocs := testing.AllocsPerRun(10, run); allocs >= 2 { // a garbage collection may empty the pools
			t.Errorf("%d bytes: %v allocations for %d messages", size, allocs, n)
		}
		if m.units < 10*n || m.bytes != m.units*size {
			t.Errorf("%d bytes: %d units, %d bytes", size, m.units, m.bytes)
		}
	}
}

// TestClaimIsNotBelieved starts a message of 64 KiB and sends only 10 bytes of it. (rfcCases has messages over the limit.)
// RL-202.
func TestClaimIsNotBelieved(t *testing.T) {
	c, nc := tapeConn(binaryFrame(string(make([]byte, 65536)))[:24])
	nc.left = 1
	if _, err := c.read(new(mute)); err != io.EOF {
		t.Fatal(err)
	}
	if got := cap(c.in.msg.b); got > 4096 {
		t.Errorf("%d bytes reserved for 10", got)
	}
}

// refill is a source that has n frames for each flush.
type refill struct {
	f *wire.Frame
	n int
}

func (r *refill) Drain(sink wire.Sink) bool {
	for range r.n {
		sink.Append(r.f)
	}
	return false
}

func TestWritesDoNotAllocate(t *testing.T) {
	skipRace(t)
	h := serve(t, Options{Addr: onSockets}, newRecorder())
	cl, p := h.connect(t)
	c := p.Conn.(*Conn)
	if c.raw == nil {
		t.Skip("no non-blocking write here")
	}
	for name, src := range map[string]*refill{"1 frame": {frame(make([]byte, 100)), 1}, "16 frames": {frame(make([]byte, 100)), 16}} {
		c.SetSource(src)
		got := make([]byte, src.n*(2+src.f.Len()))
		before := h.count.Writes.Get(counters.WS)
		if allocs := testing.AllocsPerRun(1000, func() {
			c.Flush()
			_, _ = io.ReadFull(cl.conn, got) // makes room in the kernel for the next flush
		}); allocs >= 1 {
			t.Errorf("%s: %v allocations per flush", name, allocs)
		}
		if writes := h.count.Writes.Get(counters.WS) - before; writes != 1001 {
			t.Errorf("%s: %d writes for 1001 flushes: not the way that was to be measured", name, writes)
		}
	}
	c.SetSource(nil)
	ping := []byte("mark 12345")
	if allocs := testing.AllocsPerRun(100, func() { c.Ping(ping) }); allocs >= 1 {
		t.Errorf("%v allocations per ping", allocs)
	}
	_ = cl.conn.Close()
	p.awaitEnd(t)

	// Under TLS a goroutine does all writing. It looks up the socket only if the peer is slow.
	cert, _ := transporttest.Trusted()
	h = serve(t, Options{Addr: onSockets, TLS: &tls.Config{Certificates: []tls.Certificate{*cert}}}, newRecorder())
	cl = h.secure(t, new(tls.Config))
	p = h.accepted(t)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, cl.br)
	}()
	s := &scratch{b: make([]byte, 100)}
	if allocs := testing.AllocsPerRun(100, func() {
		if s.off = 0; p.Conn.(*Conn).writeWaiting(s) != nil {
			t.Error("not written")
		}
	}); allocs >= 1 {
		t.Errorf("%v allocations per write under TLS", allocs)
	}
	_ = cl.conn.Close()
	<-drained
	p.awaitEnd(t)
}

// keeper accepts every connection and counts units.
type keeper struct{ units atomic.Int64 }

func (k *keeper) Accept(transport.Conn) (transport.Handler, messages.CloseReason) { return k, 0 }

func (k *keeper) OnUnit([]byte)        { k.units.Add(1) }
func (*keeper) OnAlive([]byte)         {}
func (*keeper) OnClosed(transport.End) {}

// An idle connection, after its handshake and first message, allocates little memory, not counting its socket.
func TestIdleConnectionsAllocateLittle(t *testing.T) {
	skipRace(t)
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		l, k := newListener(Options{}.withDefaults()), new(keeper)
		l.acceptor = k
		var ours, theirs [n]net.Conn
		for i := range n {
			ours[i], theirs[i] = net.Pipe()
		}
		answer := make([]byte, 4096)
		usage := func() (heap, stack uint64) {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc, m.StackInuse
		}
		before, stackBefore := usage()
		for i, c := range theirs {
			l.handshakes.Add(1)
			go (&handshakingConn{Conn: ours[i], l: l}).serve()
			_, err := io.WriteString(c, request("/"))
			if err == nil {
				_, err = c.Read(answer)
			}
			if err == nil {
				_, err = c.Write(binaryFrame("hello"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // each has received its first message, and the goroutine that read it has ended
		after, stackAfter := usage()
		per := float64(after-before) / n
		t.Logf("heap per idle connection %.0f bytes; stack %.0f; Conn %d", per, float64(stackAfter-stackBefore)/n, unsafe.Sizeof(Conn{}))
		if per > 2560 || k.units.Load() != n {
			t.Errorf("%.0f bytes of heap per idle connection, at most 2560 are wanted; %d first messages", per, k.units.Load())
		}
		for _, c := range theirs {
			_ = c.Close()
		}
	})
}
