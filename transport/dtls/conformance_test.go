package dtls

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"troupe/transport/transporttest"
	"troupe/transport/transporttest/memnet"
)

func TestConformance(t *testing.T) { transporttest.RunDatagrams(t, conforming{}) }

// conforming is this package as an implementation for the conformance suite.
type conforming struct{}

// NewestWins returns false: an association drops only replays. The layer above decides about order.
func (conforming) NewestWins() bool { return false }

func (conforming) Start(tb transporttest.TB, o transporttest.DatagramOptions) transporttest.DatagramServer {
	s := &conformingEndpoint{network: o.Network, accepted: make(map[netip.AddrPort]*relay)}
	conn, err := o.Network.Node().ListenPacket(0)
	if err != nil {
		tb.Fatal(err)
	}
	opt := Options{Conn: conn, Certificate: func() *tls.Certificate { return certificate }, Counters: o.Counters, HalfOpenPerIP: 64}
	if s.Endpoint, err = Listen(opt, s); err != nil {
		tb.Fatal(err)
	}
	return s
}

type conformingEndpoint struct {
	*Endpoint
	network *memnet.Network

	mu       sync.Mutex
	accepted map[netip.AddrPort]*relay // the host's associations that no test has taken yet
	clients  []*relay
}

// relay is the handler of either end. It checks that OnClosed is called only once, as the last method.
type relay struct {
	a      *Association
	closed chan struct{} // closed by OnClosed; a second close panics

	mu   sync.Mutex
	take func(plain []byte)
}

func (r *relay) OnRecord(plain []byte) {
	select {
	case <-r.closed:
		panic("OnRecord after OnClosed")
	default:
	}
	r.mu.Lock()
	take := r.take
	r.mu.Unlock()
	if take != nil {
		take(plain)
	}
}

func (r *relay) OnClosed(error) { close(r.closed) }

// Accept implements Acceptor.
func (s *conformingEndpoint) Accept(a *Association) Handler {
	r := &relay{a: a, closed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[a.RemoteAddr()] = r
	return r
}

func (s *conformingEndpoint) Dial(ctx context.Context, up func([]byte), down func(int32, []byte)) (*transporttest.DatagramPair, error) {
	conn, err := s.network.Node().DialPacket(s.Addr().(*net.UDPAddr).AddrPort())
	if err != nil {
		return nil, err
	}
	client := &relay{closed: make(chan struct{}), take: func(b []byte) { down(-1, b) }}
	_, err = Dial(ctx, DialOptions{Conn: conn, Roots: roots, ServerName: "localhost"},
		func(a *Association) Handler { client.a = a; return client })
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.clients = append(s.clients, client)
	s.mu.Unlock()
	host := s.take(ctx, conn.LocalAddr().(*net.UDPAddr).AddrPort())
	if host == nil {
		return nil, errors.New("not accepted")
	}
	host.mu.Lock()
	host.take = up
	host.mu.Unlock()
	return &transporttest.DatagramPair{Up: client.a.Write, Down: host.a.Write, Close: host.a.Close,
		Raw: func(b []byte) { _, _ = conn.Write(b) }}, nil
}

// take returns the host's end of a client. It may have to wait, because the client often completes first.
func (s *conformingEndpoint) take(ctx context.Context, addr netip.AddrPort) *relay {
	for {
		s.mu.Lock()
		r := s.accepted[addr]
		delete(s.accepted, addr)
		s.mu.Unlock()
		if r != nil {
			return r
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *conformingEndpoint) Stop() {
	for _, c := range s.clients {
		c.a.Close()
		<-c.closed
	}
	_ = s.Endpoint.Close()
}
