package dtls

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"
)

// hall is a network without a kernel: one server socket, any number of clients,
// and a say over every datagram.
type hall struct {
	in     chan packet // towards the server
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	clients map[netip.AddrPort]*guest
	// pass decides what becomes of a datagram: how many copies arrive. Nil: one.
	pass func(fromServer bool, b []byte) int
	out  int // bytes that the server sent
}

type packet struct {
	b    []byte
	from netip.AddrPort
}

func newHall() *hall {
	return &hall{in: make(chan packet, 4096), closed: make(chan struct{}), clients: make(map[netip.AddrPort]*guest)}
}

// copiesLocked is how many copies of a datagram arrive.
func (h *hall) copiesLocked(fromServer bool, b []byte) int {
	if h.pass == nil {
		return 1
	}
	return h.pass(fromServer, b)
}

// sent is how many bytes the server has sent; they are where they belong.
func (h *hall) sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out
}

// inject makes the server receive b as if from an address.
func (h *hall) inject(from netip.AddrPort, b []byte) {
	select {
	case h.in <- packet{append([]byte(nil), b...), from}:
	case <-h.closed:
	}
}

func (h *hall) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	select {
	case p := <-h.in:
		return copy(b, p.b), p.from, nil
	case <-h.closed:
		return 0, netip.AddrPort{}, net.ErrClosed
	}
}

func (h *hall) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.out += len(b)
	n, g := h.copiesLocked(true, b), h.clients[to]
	for ; n > 0 && g != nil; n-- {
		select {
		case g.in <- append([]byte(nil), b...):
		default:
		}
	}
	return len(b), nil
}

func (h *hall) LocalAddr() net.Addr { return &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 33401} }

func (h *hall) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// guest is a client's connected socket.
type guest struct {
	h      *hall
	addr   netip.AddrPort
	in     chan []byte
	closed chan struct{}
	once   sync.Once
}

// enter makes a socket with an address; an older one with it hears nothing more.
func (h *hall) enter(addr string) *guest {
	g := &guest{h: h, addr: netip.MustParseAddrPort(addr), in: make(chan []byte, 256), closed: make(chan struct{})}
	h.mu.Lock()
	h.clients[g.addr] = g
	h.mu.Unlock()
	return g
}

// move is what a NAT does that gives a socket another address: the old one is
// nobody's.
func (g *guest) move(addr string) {
	g.h.mu.Lock()
	defer g.h.mu.Unlock()
	delete(g.h.clients, g.addr)
	g.addr = netip.MustParseAddrPort(addr)
	g.h.clients[g.addr] = g
}

func (g *guest) Read(b []byte) (int, error) {
	select {
	case d := <-g.in:
		return copy(b, d), nil
	case <-g.closed:
		return 0, net.ErrClosed
	}
}

func (g *guest) Write(b []byte) (int, error) {
	g.h.mu.Lock()
	n, from := g.h.copiesLocked(false, b), g.addr
	g.h.mu.Unlock()
	for ; n > 0; n-- {
		g.h.inject(from, b)
	}
	return len(b), nil
}

func (g *guest) Close() error                     { g.once.Do(func() { close(g.closed) }); return nil }
func (g *guest) LocalAddr() net.Addr              { return &net.UDPAddr{} }
func (g *guest) RemoteAddr() net.Addr             { return g.h.LocalAddr() }
func (g *guest) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (g *guest) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (g *guest) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// serve makes a server in a hall.
func (h *hall) serve(t testing.TB, change func(o *Options, s *acceptAll)) *server {
	return serve(t, func(o *Options, s *acceptAll) {
		o.Conn = h
		if change != nil {
			change(o, s)
		}
	})
}

// dialFrom makes an association from an address.
func (s *server) dialFrom(h *hall, addr string, change func(o *DialOptions)) *inbox {
	s.Helper()
	return s.dial(func(o *DialOptions) {
		o.Conn = h.enter(addr)
		if change != nil {
			change(o)
		}
	})
}

// tryDial is dial where failing is an answer.
func (s *server) tryDial(timeout time.Duration, change func(o *DialOptions)) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	o := DialOptions{Addr: s.Addr().String(), Roots: authority().roots, ServerName: "localhost"}
	change(&o)
	a, err := Dial(ctx, o, func(a *Association) Handler { return newInbox(a) })
	if err == nil {
		a.Close()
	}
	return err
}
