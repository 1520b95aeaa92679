package nat

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"troupe/transport"
)

// Network opens sockets. It is the operating system's network, or a memnet.Machine.
type Network interface {
	Listen(network, address string) (net.Listener, error)
	ListenPacket(network, address string) (transport.PacketConn, error)
	Dial(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error)
}

// NAT is a translator. It is safe for concurrent use.
type NAT struct {
	t     testing.TB
	net   Network
	inner netip.Addr

	running sync.WaitGroup

	mu       sync.Mutex
	outer    netip.Addr
	blocked  bool
	mappings map[mapping]net.Conn // sockets to the host
	open     []io.Closer
	closed   bool
}

// mapping identifies a client's socket and the port of the host that it uses.
type mapping struct {
	client  netip.AddrPort
	service uint16
}

// New returns a translator without services. It is closed at the end of the test.
func New(t testing.TB, network Network, inner string) *NAT {
	n := &NAT{t: t, net: network, inner: netip.MustParseAddr(inner), outer: netip.MustParseAddr("127.0.0.1"), mappings: make(map[mapping]net.Conn)}
	t.Cleanup(n.close)
	return n
}

// TCP makes a TCP service of the host reachable, and returns the address to dial.
func (n *NAT) TCP(to string) string {
	n.t.Helper()
	l, err := n.net.Listen("tcp", netip.AddrPortFrom(n.inner, 0).String())
	if err != nil {
		n.t.Fatal(err)
	}
	n.keep(l)
	n.running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := n.net.Dial(context.Background(), "tcp", netip.Addr{}, to)
			if err != nil {
				in.Close()
				continue
			}
			n.keep(in)
			n.keep(out)
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				n.running.Go(func() {
					io.Copy(way[1], way[0])
					way[0].Close()
					way[1].Close()
				})
			}
		}
	})
	return l.Addr().String()
}

// UDP makes a UDP service of the host reachable, and returns the address to dial.
func (n *NAT) UDP(to string) string {
	n.t.Helper()
	service := netip.MustParseAddrPort(to)
	in, err := n.net.ListenPacket("udp", netip.AddrPortFrom(n.inner, service.Port()).String())
	if err != nil {
		n.t.Fatal(err)
	}
	n.keep(in)
	n.running.Go(func() {
		for b := make([]byte, 4096); ; {
			size, client, err := in.ReadFromUDPAddrPort(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if out := n.mapped(in, client, service); err == nil && out != nil {
				_, _ = out.Write(b[:size])
			}
		}
	})
	return in.LocalAddr().String()
}

// mapped returns the outer socket of a client, and creates it if necessary.
func (n *NAT) mapped(in transport.PacketConn, client, service netip.AddrPort) net.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := mapping{client, service.Port()}
	if out := n.mappings[key]; out != nil || n.blocked || n.closed {
		return out
	}
	out, err := n.net.Dial(context.Background(), "udp", n.outer, service.String())
	if err != nil {
		n.t.Error(err)
		return nil
	}
	n.mappings[key] = out
	n.running.Go(func() {
		for b := make([]byte, 4096); ; {
			size, err := out.Read(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_, _ = in.WriteToUDPAddrPort(b[:size], client)
			}
		}
	})
	return out
}

// Rebind drops all UDP mappings. The next datagram of each client gets another port, and datagrams that the
// host sends to the old port are lost.
func (n *NAT) Rebind() { n.MoveTo(n.Outer().String()) }

// MoveTo drops all UDP mappings and changes the outer address for UDP.
func (n *NAT) MoveTo(outer string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outer, n.blocked = netip.MustParseAddr(outer), false
	n.forget()
}

// Block drops all UDP datagrams until Rebind or MoveTo.
func (n *NAT) Block() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocked = true
	n.forget()
}

// Outer returns the address at which the host sees clients.
func (n *NAT) Outer() netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.outer
}

// forget closes all mappings. The caller holds mu.
func (n *NAT) forget() {
	for _, out := range n.mappings {
		out.Close()
	}
	clear(n.mappings)
}

// keep makes the translator close c when it is closed.
func (n *NAT) keep(c io.Closer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		c.Close()
		return
	}
	n.open = append(n.open, c)
}

func (n *NAT) close() {
	n.mu.Lock()
	n.closed = true
	n.forget()
	for _, c := range n.open {
		c.Close()
	}
	n.mu.Unlock()
	n.running.Wait()
}
