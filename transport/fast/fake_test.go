package fast

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"

	"troupe/messages/counters"
	"troupe/transport"
)

// written is one datagram a fakeConn was given.
type written struct {
	to    netip.AddrPort
	bytes []byte
}

// fakeConn is a socket without a network. Reads give the errors of readErrs,
// then wait for Close. Writes are kept.
type fakeConn struct {
	readErrs []error
	writeErr error
	closed   chan struct{}
	once     sync.Once

	mu      sync.Mutex
	reads   int
	written []written
	discard bool // keep no writes
}

func (c *fakeConn) ReadFromUDPAddrPort([]byte) (int, netip.AddrPort, error) {
	c.mu.Lock()
	n := c.reads
	c.reads++
	c.mu.Unlock()
	if n < len(c.readErrs) {
		return 0, netip.AddrPort{}, c.readErrs[n]
	}
	<-c.closed
	return 0, netip.AddrPort{}, net.ErrClosed
}

func (c *fakeConn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writeErr != nil {
		return 0, c.writeErr
	}
	if !c.discard {
		c.written = append(c.written, written{to, append([]byte(nil), b...)})
	}
	return len(b), nil
}

func (c *fakeConn) LocalAddr() net.Addr { return &net.UDPAddr{Port: 33400} }
func (c *fakeConn) Close() error        { c.once.Do(func() { close(c.closed) }); return nil }

// drain does the writer's work for a socket that has none: all that is queued
// now.
func (c *fakeConn) drain(s *socket) {
	for w := newWriter(s); s.out.length() > 0; {
		w.round()
	}
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// defaults are the options of a channel that is on.
func defaults() Options { return Options{Addr: ":33400", Enabled: true, SameIP: true}.filled() }

// quietPool is a pool whose main socket is a fakeConn and has no goroutines: the
// test is the reader and the writer.
func quietPool(t testing.TB, change func(*Options)) (*Pool, *fakeConn) {
	t.Helper()
	conn := &fakeConn{closed: make(chan struct{})}
	opt := defaults()
	opt.Now, opt.Counters = new(clock).now, new(counters.Set)
	if change != nil {
		change(&opt)
	}
	opt = opt.filled()
	opt.ListenPacket = func(string, string) (transport.PacketConn, error) { return nil, errors.New("no") }
	p := &Pool{opt: opt, started: opt.Now(), socketsMax: 1 + extraSocketsMax, next: opt.ExtraPortsMin}
	p.main = newSocket(p, conn, false)
	p.sockets = []*socket{p.main}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		conn.drain(p.main) // gives the references back
	})
	return p, conn
}

func clientAddr(port uint16) netip.AddrPort { return netip.AddrPortFrom(local, port) }

// Stats are the current numbers of a Pool.
type Stats struct {
	Sockets      int // bound sockets that take associations
	Associations int // open associations with a socket
}

func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := Stats{Sockets: len(p.sockets)}
	for _, s := range p.sockets {
		s.mu.RLock()
		st.Associations += len(s.peers)
		s.mu.RUnlock()
	}
	return st
}

// Addr returns the peer's bound address, not valid while there is none.
func (a *Association) Addr() netip.AddrPort {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bind == nil {
		return netip.AddrPort{}
	}
	return a.bind.addr
}
