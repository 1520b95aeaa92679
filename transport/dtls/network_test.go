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

// network is a simulated UDP network with one server socket and any number of clients. The
// test decides what happens to each datagram.
type network struct {
	in     chan packet // towards the server
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	clients map[netip.AddrPort]*clientSocket
	// pass returns how many copies of a datagram arrive. If nil, one copy arrives.
	pass func(fromServer bool, b []byte) int
	out  int // bytes that the server has sent
}

type packet struct {
	b    []byte
	from netip.AddrPort
}

func newNetwork() *network {
	return &network{in: make(chan packet, 4096), closed: make(chan struct{}), clients: make(map[netip.AddrPort]*clientSocket)}
}

// copiesLocked returns how many copies of a datagram arrive.
func (h *network) copiesLocked(fromServer bool, b []byte) int {
	if h.pass == nil {
		return 1
	}
	return h.pass(fromServer, b)
}

// sent returns how many bytes the server has sent. All of them have been delivered.
func (h *network) sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out
}

// inject makes the server receive b from the given address.
func (h *network) inject(from netip.AddrPort, b []byte) {
	select {
	case h.in <- packet{append([]byte(nil), b...), from}:
	case <-h.closed:
	}
}

func (h *network) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	select {
	case p := <-h.in:
		return copy(b, p.b), p.from, nil
	case <-h.closed:
		return 0, netip.AddrPort{}, net.ErrClosed
	}
}

func (h *network) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
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

func (h *network) LocalAddr() net.Addr { return &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 33401} }

func (h *network) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// clientSocket is a client's connected socket.
type clientSocket struct {
	h      *network
	addr   netip.AddrPort
	in     chan []byte
	closed chan struct{}
	once   sync.Once
}

// enter creates a socket with an address. An older socket with the same address receives nothing more.
func (h *network) enter(addr string) *clientSocket {
	g := &clientSocket{h: h, addr: netip.MustParseAddrPort(addr), in: make(chan []byte, 256), closed: make(chan struct{})}
	h.mu.Lock()
	h.clients[g.addr] = g
	h.mu.Unlock()
	return g
}

// move gives the socket another address, as a NAT does. Nobody receives datagrams to the old one.
func (g *clientSocket) move(addr string) {
	g.h.mu.Lock()
	defer g.h.mu.Unlock()
	delete(g.h.clients, g.addr)
	g.addr = netip.MustParseAddrPort(addr)
	g.h.clients[g.addr] = g
}

func (g *clientSocket) Read(b []byte) (int, error) {
	select {
	case d := <-g.in:
		return copy(b, d), nil
	case <-g.closed:
		return 0, net.ErrClosed
	}
}

func (g *clientSocket) Write(b []byte) (int, error) {
	g.h.mu.Lock()
	n, from := g.h.copiesLocked(false, b), g.addr
	g.h.mu.Unlock()
	for ; n > 0; n-- {
		g.h.inject(from, b)
	}
	return len(b), nil
}

func (g *clientSocket) Close() error                     { g.once.Do(func() { close(g.closed) }); return nil }
func (g *clientSocket) LocalAddr() net.Addr              { return &net.UDPAddr{} }
func (g *clientSocket) RemoteAddr() net.Addr             { return g.h.LocalAddr() }
func (g *clientSocket) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (g *clientSocket) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (g *clientSocket) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// serve makes a server in the network.
func (h *network) serve(t testing.TB, change func(o *Options, s *acceptAll)) *server {
	return serve(t, func(o *Options, s *acceptAll) {
		o.Conn = h
		if change != nil {
			change(o, s)
		}
	})
}

// dialFrom dials an association from the given address.
func (s *server) dialFrom(h *network, addr string, change func(o *DialOptions)) *inbox {
	s.Helper()
	return s.dial(func(o *DialOptions) {
		o.Conn = h.enter(addr)
		if change != nil {
			change(o)
		}
	})
}

// tryDial dials and returns the error instead of failing the test.
func (s *server) tryDial(timeout time.Duration, change func(o *DialOptions)) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	o := DialOptions{Addr: s.Addr().String(), Roots: roots, ServerName: "localhost"}
	change(&o)
	a, err := Dial(ctx, o, func(a *Association) Handler { return newInbox(a) })
	if err == nil {
		a.Close()
	}
	return err
}
