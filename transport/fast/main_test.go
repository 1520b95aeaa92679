package fast

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/transporttest/memnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 3 * time.Minute // ends a test that hangs

var local = netip.MustParseAddr("127.0.0.1")

// clock is a Now that changes only by advance.
type clock struct{ offset atomic.Int64 }

var clockStart = time.Now()

func (c *clock) now() time.Time          { return clockStart.Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

// host is a pool with a clock that stands still. Its network is in memory and delivers at once.
type host struct {
	*Pool
	net   transport.Network // nil for the kernel's
	t     testing.TB
	clock *clock
	count *counters.Set
}

func newHost(t testing.TB, change func(*Options)) *host {
	t.Helper()
	h := &host{t: t, clock: new(clock), count: new(counters.Set)}
	opt := defaults()
	network := memnet.New(memnet.Seed(t))
	t.Cleanup(network.Close)
	h.net = network.Machine()
	opt.Addr, opt.Counters, opt.Now, opt.ListenPacket = "127.0.0.1:0", h.count, h.clock.now, h.net.ListenPacket
	if change != nil {
		change(&opt)
	}
	if opt.ListenPacket == nil {
		h.net = nil
	}
	p, err := Listen(opt)
	if err != nil {
		t.Fatal(err)
	}
	h.Pool = p
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if n := h.count.Connections.Get(counters.UDP); n != 0 {
			t.Errorf("%d fast associations counted after Close", n)
		}
	})
	return h
}

// onSockets makes newHost use real sockets, for tests of the kernel's behaviour.
func onSockets(o *Options) { o.ListenPacket = nil }

// open opens an association. The returned inbox gets its packets.
func (h *host) open(peer messages.PeerID, ip netip.Addr) (*Association, inbox) {
	h.t.Helper()
	in := make(inbox, 64)
	a, err := h.Open(peer, ip, in)
	if err != nil {
		h.t.Fatal(err)
	}
	return a, in
}

// dropped waits until n datagrams were dropped for the reason why.
func (h *host) dropped(why counters.Drop, n int64) {
	h.t.Helper()
	eventually(h.t, why.String()+" counted", func() bool { return h.count.Dropped.Get(why) >= n })
	if got := h.count.Dropped.Get(why); got != n {
		h.t.Fatalf("dropped %v: %d, want %d", why, got, n)
	}
}

// wrote waits until n datagrams were written. A client may receive a datagram before the writer has counted it.
func (h *host) wrote(n int64) {
	h.t.Helper()
	eventually(h.t, "written", func() bool { return h.count.Writes.Get(counters.UDP) >= n })
	if got := h.count.Writes.Get(counters.UDP); got != n {
		h.t.Fatalf("%d datagrams written, want %d", got, n)
	}
}

func (h *host) ready(a *Association, want bool) {
	h.t.Helper()
	eventually(h.t, "ready", func() bool { return a.Ready() == want })
}

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("not yet: " + what)
		}
	}
}

// inbox is a Handler that stores the packets it gets.
type inbox chan []byte

func (in inbox) OnFast(packet []byte) { in <- append([]byte(nil), packet...) }

func (in inbox) next(t testing.TB) wire.Header {
	t.Helper()
	select {
	case packet := <-in:
		var h wire.Header
		if err := h.Parse(packet); err != nil {
			t.Fatal(err)
		}
		return h
	case <-time.After(patience):
		t.Fatal("nothing came up")
		return wire.Header{}
	}
}

func (in inbox) empty(t testing.TB) {
	t.Helper()
	if len(in) != 0 {
		t.Fatalf("%d packets came up, want none", len(in))
	}
}

// client is a UDP socket that numbers its datagrams as a client does.
type client struct {
	t    testing.TB
	host *host
	conn transport.PacketConn
	to   netip.AddrPort
	peer int32
	seq  int32
}

// client binds a socket at ip. Its datagrams go to port of 127.0.0.1, or of ::1 if ip is an IPv6 address.
func (h *host) client(ip string, port uint16, peer int32) *client {
	h.t.Helper()
	from := netip.MustParseAddr(ip)
	var conn transport.PacketConn
	var err error
	if addr := netip.AddrPortFrom(from, 0); h.net != nil {
		conn, err = h.net.ListenPacket("udp", addr.String())
	} else {
		var udp *net.UDPConn
		if udp, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr)); err == nil {
			_ = udp.SetReadDeadline(time.Now().Add(patience))
		}
		conn = udp
	}
	if err != nil {
		h.t.Skipf("no address %s here: %v", ip, err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	to := local
	if from.Is6() {
		to = netip.IPv6Loopback()
	}
	return &client{t: h.t, host: h, conn: conn, to: netip.AddrPortFrom(to, port), peer: peer}
}

func (c *client) addr() netip.AddrPort {
	return c.conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

func (c *client) raw(b []byte) {
	c.t.Helper()
	if _, err := c.conn.WriteToUDPAddrPort(b, c.to); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next() int32 { c.seq++; return c.seq - 1 }

func (c *client) connect() { c.t.Helper(); c.raw(wire.AppendUDPConnect(nil, c.peer, c.next())) }
func (c *client) ack()     { c.t.Helper(); c.raw(wire.AppendClientAck(nil, c.peer, c.next())) }

func (c *client) data(payload string) {
	c.t.Helper()
	c.raw(message(c.peer, c.next(), payload))
}

// receive returns the next packet, which must come from the announced port.
func (c *client) receive() wire.Header {
	c.t.Helper()
	buf := make([]byte, 1<<16)
	n, from, err := c.conn.ReadFromUDPAddrPort(buf)
	if err != nil {
		c.t.Fatal(err)
	}
	if from != c.to {
		c.t.Fatalf("datagram from %v, want %v", from, c.to)
	}
	packet, err := wire.SplitUnit(buf[:n])
	if err != nil {
		c.t.Fatal(err)
	}
	var h wire.Header
	if err := h.Parse(packet); err != nil {
		c.t.Fatal(err)
	}
	return h
}

// serverAck receives a -6 and checks its number.
func (c *client) serverAck(number int32) {
	c.t.Helper()
	h := c.receive()
	if h.OpCode != wire.OpServerAck || h.Sequence != number || h.TargetPlayer != c.peer ||
		h.Sender != wire.ServerPeer || h.Reliable || h.Command != wire.CommandUDPConnect {
		c.t.Fatalf("got %+v, want -6 number %d", h, number)
	}
}

// message receives an application message and checks its payload and number.
func (c *client) message(payload string, number int32) {
	c.t.Helper()
	h := c.receive()
	if string(h.Payload) != payload || h.Sequence != number || h.Reliable {
		c.t.Fatalf("got %+v, want %q number %d", h, payload, number)
	}
}

// confirm performs the handshake of a new association.
func (h *host) confirm(a *Association, ip string) *client {
	h.t.Helper()
	c := h.client(ip, a.Port(), int32(a.peer))
	c.connect()
	c.serverAck(0)
	c.ack()
	h.ready(a, true)
	return c
}

// send sends one message of the server. It releases the frame.
func send(a *Association, payload string) bool {
	f := wire.NewFrame(&wire.Header{OpCode: 7, TargetPlayer: int32(a.peer), Sender: wire.ServerPeer, Payload: []byte(payload)})
	defer f.Release()
	return a.Send(f)
}

// message returns the unit of an application message.
func message(peer, seq int32, payload string) []byte {
	return wire.AppendMessage(nil, &wire.Header{OpCode: 7, Sequence: seq, TargetPlayer: wire.ServerPeer, Sender: peer, Payload: []byte(payload)})
}
