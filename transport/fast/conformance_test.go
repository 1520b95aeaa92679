package fast

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/dtls"
	"troupe/transport/transporttest"
	"troupe/transport/transporttest/memnet"
)

func TestConformance(t *testing.T)        { transporttest.RunDatagrams(t, conforming{}) }
func TestConformanceSecured(t *testing.T) { transporttest.RunDatagrams(t, conforming{secured: true}) }

// conforming is the plain channel or the secured one, as an implementation for the conformance suite.
type conforming struct{ secured bool }

func (conforming) NewestWins() bool { return true }

func (c conforming) Start(tb transporttest.TB, o transporttest.DatagramOptions) transporttest.DatagramServer {
	if c.secured {
		return startSecured(tb, o)
	}
	node := o.Network.Node()
	s := &conformingPool{network: o.Network, ip: node.Addr()}
	opt := defaults()
	opt.Addr, opt.Counters, opt.ListenPacket = "127.0.0.1:0", o.Counters, listenOn(node)
	var err error
	if s.pool, err = Listen(opt); err != nil {
		tb.Fatal(err)
	}
	return s
}

// listenOn returns an Options.ListenPacket that uses a node.
func listenOn(node *memnet.Node) func(network, address string) (transport.PacketConn, error) {
	return func(_, address string) (transport.PacketConn, error) {
		_, port, _ := net.SplitHostPort(address)
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, err
		}
		return node.ListenPacket(uint16(n))
	}
}

// conformingPool is the plain channel.
type conformingPool struct {
	network *memnet.Network
	pool    *Pool
	ip      netip.Addr // of the pool
	running sync.WaitGroup

	mu      sync.Mutex
	peers   int32
	clients []net.Conn
}

func (s *conformingPool) Dial(ctx context.Context, up func([]byte), down func(int32, []byte)) (*transporttest.DatagramPair, error) {
	s.mu.Lock()
	s.peers++
	peer, node := s.peers, s.network.Node()
	s.mu.Unlock()
	a, err := s.pool.Open(messages.PeerID(peer), node.Addr(), upward(up))
	if err != nil {
		return nil, err
	}
	conn, err := node.DialPacket(netip.AddrPortFrom(s.ip, a.Port()))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.clients = append(s.clients, conn)
	s.mu.Unlock()

	cl := &numbered{peer: peer, write: func(b []byte) bool { _, err := conn.Write(b); return err == nil }}
	var acked atomic.Bool
	s.running.Go(func() {
		buf := make([]byte, datagramMax)
		for {
			n, err := conn.Read(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if h, ok := headerOf(buf[:n]); err == nil && ok && h.OpCode == wire.OpServerAck {
				acked.Store(true)
			} else if err == nil && ok {
				down(h.Sequence, h.Payload)
			}
		}
	})
	// Repeat the handshake (realtime.md 7.3) as a client does.
	for !a.Ready() {
		shake := wire.AppendUDPConnect
		if acked.Load() {
			shake = wire.AppendClientAck
		}
		cl.send(func(number int32) []byte { return shake(nil, peer, number) })
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return cl.pair(a.Send, a.Close), nil
}

func (s *conformingPool) Stop() {
	_ = s.pool.Close()
	for _, conn := range s.clients {
		_ = conn.Close()
	}
	s.running.Wait()
}

// upward passes payloads to the suite.
type upward func(payload []byte)

func (u upward) OnFast(packet []byte) {
	var h wire.Header
	if h.Parse(packet) == nil {
		u(h.Payload)
	}
}

// OnVerified implements SecuredHandler.
func (u upward) OnVerified(answer *wire.Frame) { answer.Release() }

// headerOf parses one unit.
func headerOf(unit []byte) (h wire.Header, ok bool) {
	packet, err := wire.SplitUnit(unit)
	return h, err == nil && h.Parse(packet) == nil
}

// numbered is a client that numbers everything it sends.
type numbered struct {
	peer  int32
	write func(b []byte) bool

	mu   sync.Mutex
	next int32
}

func (c *numbered) send(compose func(number int32) []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.write(compose(c.next - 1))
}

// pair returns both ends. send sends from the host's end, and closeHost closes that.
func (c *numbered) pair(send func(f *wire.Frame) bool, closeHost func()) *transporttest.DatagramPair {
	return &transporttest.DatagramPair{
		Up: func(payload []byte) bool {
			return c.send(func(number int32) []byte { return message(c.peer, number, string(payload)) })
		},
		Down: func(payload []byte) bool {
			f := wire.NewFrame(&wire.Header{OpCode: 7, TargetPlayer: c.peer, Sender: wire.ServerPeer, Payload: payload})
			defer f.Release()
			return send(f)
		},
		Raw:   func(b []byte) { c.write(b) },
		Close: closeHost,
	}
}

// conformingSecured is the secured channel.
type conformingSecured struct {
	network *memnet.Network
	*Secured

	mu      sync.Mutex
	peers   int32
	clients []*verifying
}

func startSecured(tb transporttest.TB, o transporttest.DatagramOptions) transporttest.DatagramServer {
	cert, _ := transporttest.Trusted()
	conn, err := o.Network.Node().ListenPacket(0)
	if err != nil {
		tb.Fatal(err)
	}
	opt := SecuredOptions{
		DTLS:    dtls.Options{Conn: conn, Certificate: func() *tls.Certificate { return cert }, HalfOpenPerIP: 64},
		Anchors: func() []byte { return []byte("unused") }, Enabled: true, Counters: o.Counters,
	}
	s := &conformingSecured{network: o.Network}
	if s.Secured, err = ListenSecured(opt); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *conformingSecured) Dial(ctx context.Context, up func([]byte), down func(int32, []byte)) (*transporttest.DatagramPair, error) {
	s.mu.Lock()
	s.peers++
	peer := s.peers
	s.mu.Unlock()
	a, err := s.Open(messages.PeerID(peer), upward(up))
	if err != nil {
		return nil, err
	}
	conn, err := s.network.Node().DialPacket(s.endpoint.Addr().(*net.UDPAddr).AddrPort())
	if err != nil {
		return nil, err
	}
	_, roots := transporttest.Trusted()
	v := &verifying{down: down, closed: make(chan struct{})}
	under, err := dtls.Dial(ctx, dtls.DialOptions{Conn: conn, Roots: roots, ServerName: "localhost"},
		func(a *dtls.Association) dtls.Handler { v.a = a; return v })
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.clients = append(s.clients, v)
	s.mu.Unlock()
	cl := &numbered{peer: peer, write: under.Write}
	for !a.Ready() {
		cl.send(func(number int32) []byte {
			return wire.AppendVerifyIdentity(nil, &wire.VerifyIdentity{PeerID: peer, ConnectToken: a.Token()}, number, nil)
		})
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return cl.pair(a.Send, a.Close), nil
}

func (s *conformingSecured) Stop() {
	for _, v := range s.clients {
		v.a.Close()
		<-v.closed
	}
	_ = s.Close()
}

// verifying is the client's handler.
type verifying struct {
	a      *dtls.Association
	down   func(number int32, payload []byte)
	closed chan struct{}
}

// OnRecord implements dtls.Handler.
func (v *verifying) OnRecord(plain []byte) {
	if h, ok := headerOf(plain); ok && h.OpCode == 7 {
		v.down(h.Sequence, h.Payload)
	}
}

// OnClosed implements dtls.Handler.
func (v *verifying) OnClosed(error) { close(v.closed) }
