package kcp

import (
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// loop is a carrier that keeps datagrams until the test carries them to the other side.
type loop struct {
	waiting [][]byte
	free    [][]byte
}

func (l *loop) Write(b []byte) bool {
	var c []byte
	if n := len(l.free); n > 0 {
		c, l.free = l.free[n-1], l.free[:n-1]
	}
	l.waiting = append(l.waiting, append(c[:0], b...))
	return true
}

func (*loop) Unread() bool { return false }

func (l *loop) RemoteAddr() netip.AddrPort { return netip.AddrPort{} }
func (l *loop) Close()                     {}

// carry passes the waiting datagrams to e.
func (l *loop) carry(e *engine) {
	for i, b := range l.waiting {
		e.OnRecord(b)
		l.free = append(l.free, b)
		l.waiting[i] = nil
	}
	l.waiting = l.waiting[:0]
}

// counting is an acceptor and handler that counts messages.
type counting struct{ messages atomic.Int64 }

func (c *counting) Accept(transport.Conn) (transport.Handler, messages.CloseReason) { return c, 0 }
func (c *counting) OnUnit([]byte)                                                   { c.messages.Add(1) }
func (c *counting) OnAlive([]byte)                                                  {}
func (c *counting) OnClosed(transport.End)                                          {}

type countingStream struct{ messages atomic.Int64 }

func (c *countingStream) OnMessage([]byte)   { c.messages.Add(1) }
func (c *countingStream) OnDatagram([]byte)  {}
func (c *countingStream) OnClosed(StreamEnd) {}

// oneFrame is a source that provides frame f. The field left is how many times it still does.
type oneFrame struct {
	f    *wire.Frame
	left int
}

func (o *oneFrame) Drain(sink wire.Sink) bool {
	for ; o.left > 0; o.left-- {
		sink.Append(o.f)
	}
	return false
}

// bench is a host and a client. The test carries their datagrams.
type bench struct {
	down, up *loop
	conn     *Conn
	host     *engine
	stream   *Stream
	heard    *countingStream
	source   *oneFrame
}

func newBench(tb testing.TB) *bench {
	b := &bench{down: new(loop), up: new(loop), heard: new(countingStream)}
	b.source = &oneFrame{f: frameOf(1, 100)}
	var count counters.Set
	l := NewListener(Options{Counters: &count}, new(counting))
	b.host = l.accept(b.down)
	b.conn = b.host.owner.(*Conn)
	b.conn.LoggedIn()
	b.conn.SetSource(b.source)
	b.stream = newStream(b.up, DialOptions{}, b.heard)
	tb.Cleanup(func() {
		b.stream.Abort()
		b.host.OnClosed(errPathClosed)
		b.stream.e.OnClosed(errPathClosed)
	})
	return b
}

// round sends n messages from the host, and carries them to the client and the acks back.
func (b *bench) round(n int) {
	b.source.left = n
	b.conn.Flush()
	b.down.carry(b.stream.e)
	b.stream.e.lock()
	b.stream.e.flush() // send the ack now
	b.stream.e.leave()
	b.up.carry(b.host)
}

// await waits until the client has received n messages.
func (b *bench) await(tb testing.TB, n int64) {
	for spins := 0; b.heard.messages.Load() < n; spins++ {
		if spins > 1e7 {
			tb.Fatalf("%d of %d messages", b.heard.messages.Load(), n)
		}
		runtime.Gosched()
	}
}
