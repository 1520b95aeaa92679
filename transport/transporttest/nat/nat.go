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

// Network opens sockets: those of the operating system, or a memnet.Machine.
type Network interface {
	Listen(network, address string) (net.Listener, error)
	ListenPacket(network, address string) (transport.PacketConn, error)
	Dial(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error)
}

// NAT is one translator. Its methods may be called from any goroutine.
type NAT struct {
	t     testing.TB
	net   Network
	inner netip.Addr

	running sync.WaitGroup

	mu       sync.Mutex
	outer    netip.Addr
	blocked  bool
	mappings map[mapping]net.Conn // to the host, by client and service
	open     []io.Closer
	closed   bool
}

// mapping is a client's socket and the port that it talks to.
type mapping struct {
	client  netip.AddrPort
	service uint16
}

// New returns a translator without services; the test ends it.
func New(t testing.TB, network Network, inner string) *NAT {
	n := &NAT{t: t, net: network, inner: netip.MustParseAddr(inner), outer: netip.MustParseAddr("127.0.0.1"), mappings: make(map[mapping]net.Conn)}
	t.Cleanup(n.close)
	return n
}

// TCP makes a service of the host reachable and returns the address to dial.
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

// UDP does the same for datagrams.
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

// mapped returns the outer socket of a client, which it makes if there is none.
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

// Rebind forgets all mappings of UDP: the next datagram of each client gets another
// port, and what the host sends to the old one vanishes.
func (n *NAT) Rebind() { n.MoveTo(n.Outer().String()) }

// MoveTo does the same with another outer address for UDP.
func (n *NAT) MoveTo(outer string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outer, n.blocked = netip.MustParseAddr(outer), false
	n.forget()
}

// Block lets no UDP through until Rebind or MoveTo.
func (n *NAT) Block() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocked = true
	n.forget()
}

// Outer is the address that the host sees.
func (n *NAT) Outer() netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.outer
}

// forget ends all mappings. The caller holds mu.
func (n *NAT) forget() {
	for _, out := range n.mappings {
		out.Close()
	}
	clear(n.mappings)
}

// keep closes c with the translator.
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
