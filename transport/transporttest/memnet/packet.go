package memnet

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// queueMax is the maximum number of datagrams waiting in a socket. Further ones are dropped.
const queueMax = 1024

type datagram struct {
	from, to netip.AddrPort
	number   uint64 // number on its path
	b        []byte // must not be modified
}

// PacketConn is a datagram socket. It has the methods of a *net.UDPConn that the transports need.
type PacketConn struct {
	n     *Network
	local netip.AddrPort
	peer  netip.AddrPort // if valid, datagrams of all other senders are dropped

	filled sync.Cond // its lock is the network's, which guards the fields below
	queue  []datagram
	limit  deadline // deadline of reads
	closed bool
}

// ListenPacket opens a datagram socket. Port 0 selects a free port.
func (d *Node) ListenPacket(port uint16) (*PacketConn, error) {
	return d.n.openPacket(netip.AddrPortFrom(d.addr, port), netip.AddrPort{})
}

// DialPacket opens a datagram socket that is connected to one peer. It sends nothing.
func (d *Node) DialPacket(peer netip.AddrPort) (net.Conn, error) {
	return d.n.dialPacket(d.addr, peer)
}

func (n *Network) dialPacket(from netip.Addr, peer netip.AddrPort) (net.Conn, error) {
	c, err := n.openPacket(netip.AddrPortFrom(from, 0), peer)
	if err != nil {
		return nil, err
	}
	return connected{c}, nil
}

func (n *Network) openPacket(on, peer netip.AddrPort) (*PacketConn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, err := n.bind(on.Addr(), on.Port(), func(at netip.AddrPort) bool { return n.packets[at] != nil })
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "udp", Err: err}
	}
	c := &PacketConn{n: n, local: at, peer: peer}
	c.filled.L = &n.mu
	n.packets[at] = c
	return c, nil
}

// push adds an arrived datagram to the queue. The caller holds the network's lock.
func (c *PacketConn) push(d datagram) bool {
	if c.peer.IsValid() && d.from != c.peer {
		return true // a kernel drops it silently
	}
	if len(c.queue) >= queueMax {
		return false
	}
	c.queue = append(c.queue, d)
	c.filled.Signal()
	return true
}

// ReadFromUDPAddrPort waits for a datagram. If b is too short, the rest of the datagram is lost.
func (c *PacketConn) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, netip.AddrPort{}, c.failed("read", net.ErrClosed)
		case c.limit.passed():
			return 0, netip.AddrPort{}, c.failed("read", os.ErrDeadlineExceeded)
		case len(c.queue) > 0:
			d := c.queue[0]
			c.queue[0] = datagram{}
			c.queue = c.queue[1:]
			return copy(b, d.b), d.from, nil
		}
		c.filled.Wait()
	}
}

// WriteToUDPAddrPort sends a datagram without blocking. It returns no error if the datagram is lost.
func (c *PacketConn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if c.closed {
		return 0, c.failed("write", net.ErrClosed)
	}
	from := c.local
	if from.Addr().IsUnspecified() {
		from = netip.AddrPortFrom(loopbackOf(to.Addr()), from.Port())
	}
	c.n.path(from.Addr(), to.Addr()).send(datagram{from: from, to: to, b: append([]byte(nil), b...)})
	return len(b), nil
}

// ReadFrom implements net.PacketConn.
func (c *PacketConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUDPAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// WriteTo implements net.PacketConn for a *net.UDPAddr.
func (c *PacketConn) WriteTo(b []byte, to net.Addr) (int, error) {
	udp, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, c.failed("write", net.InvalidAddrError("not a UDP address"))
	}
	at := udp.AddrPort()
	return c.WriteToUDPAddrPort(b, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
}

// LocalAddr returns the local address, a *net.UDPAddr.
func (c *PacketConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.local) }

// SetReadDeadline implements net.PacketConn.
func (c *PacketConn) SetReadDeadline(t time.Time) error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if c.closed {
		return c.failed("set", net.ErrClosed)
	}
	c.limit.set(t, &c.filled)
	return nil
}

// Close releases the port and drops the datagrams in the queue.
func (c *PacketConn) Close() error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if c.closed {
		return c.failed("close", net.ErrClosed)
	}
	c.closed, c.queue = true, nil
	c.limit.stop()
	delete(c.n.packets, c.local)
	c.filled.Broadcast()
	return nil
}

func (c *PacketConn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "udp", Source: net.UDPAddrFromAddrPort(c.local), Err: err}
}

// SetDeadline implements net.PacketConn. It only affects reads, because writes never block.
func (c *PacketConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements net.PacketConn. It has no effect, because writes never block.
func (c *PacketConn) SetWriteDeadline(time.Time) error { return nil }

// connected is the net.Conn of a PacketConn with one peer.
type connected struct{ *PacketConn }

func (c connected) Read(b []byte) (int, error) {
	n, _, err := c.ReadFromUDPAddrPort(b)
	return n, err
}

func (c connected) Write(b []byte) (int, error) { return c.WriteToUDPAddrPort(b, c.peer) }

func (c connected) RemoteAddr() net.Addr { return net.UDPAddrFromAddrPort(c.peer) }
