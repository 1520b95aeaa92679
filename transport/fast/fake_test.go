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

// written is one datagram that was written to a fakeConn.
type written struct {
	to    netip.AddrPort
	bytes []byte
}

// fakeConn is a socket without a network. Reads return the errors of readErrs and then block until Close. Writes are stored.
type fakeConn struct {
	readErrs []error
	writeErr error
	closed   chan struct{}
	once     sync.Once

	mu      sync.Mutex
	reads   int
	written []written
	discard bool // do not store writes
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

// drain does the work of the writer for a socket that has none: it sends everything that is queued now.
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

// defaults returns options for an enabled channel.
func defaults() Options { return Options{Addr: ":33400", Enabled: true, SameIP: true}.filled() }

// quietPool returns a pool whose main socket is a fakeConn. The pool has no goroutines; the test acts as reader and writer.
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
		conn.drain(p.main) // releases the references to the frames
	})
	return p, conn
}

func clientAddr(port uint16) netip.AddrPort { return netip.AddrPortFrom(local, port) }

// Stats are the current numbers of a Pool.
type Stats struct {
	Sockets      int // bound sockets that accept associations
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

// Addr returns the peer's bound address. It is not valid if there is none.
func (a *Association) Addr() netip.AddrPort {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bind == nil {
		return netip.AddrPort{}
	}
	return a.bind.addr
}
