package kcp

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/transporttest"
)

func TestConformanceFast(t *testing.T) { transporttest.RunDatagrams(t, conformingFast{}) }

// conformingFast is the fast channel of a connection, as an implementation for the conformance suite.
type conformingFast struct{}

func (conformingFast) NewestWins() bool { return true }

func (conformingFast) Start(tb transporttest.TB, o transporttest.DatagramOptions) transporttest.DatagramServer {
	s := &conformingFastServer{accepted: make(map[netip.AddrPort]*Conn)}
	s.under = conforming{}.Start(tb, transporttest.Options{Network: o.Network, Counters: o.Counters, Acceptor: s}).(*conformingServer)
	return s
}

type conformingFastServer struct {
	under *conformingServer

	mu       sync.Mutex
	accepted map[netip.AddrPort]*Conn
}

// Accept implements transport.Acceptor. It may be called before Dial returns or shortly after.
func (s *conformingFastServer) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[c.RemoteAddr()] = c.(*Conn)
	return transport.Nobody{}, 0
}

func (s *conformingFastServer) Dial(ctx context.Context, up func([]byte), down func(int32, []byte)) (*transporttest.DatagramPair, error) {
	in := &fastInbox{down: down}
	client, err := s.under.dial(ctx, in, in.onDatagram)
	if err != nil {
		return nil, err
	}
	var c *Conn
	for ; c == nil; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		c = s.accepted[client.Addr()]
		s.mu.Unlock()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	c.LoggedIn()
	fast := c.OpenFast(func(packet []byte) {
		var h wire.Header
		if h.Parse(packet) == nil {
			up(h.Payload)
		}
	})
	var mu sync.Mutex
	next := int32(0)
	return &transporttest.DatagramPair{
		Up: func(payload []byte) bool {
			mu.Lock()
			defer mu.Unlock()
			next++
			return client.SendDatagram(wire.AppendMessage(nil, &wire.Header{OpCode: 7, Sequence: next - 1, Sender: 1, Payload: payload})) == nil
		},
		Down: func(payload []byte) bool {
			f := wire.NewFrame(&wire.Header{OpCode: 7, Sender: wire.ServerPeer, Payload: payload})
			defer f.Release()
			return fast.Send(f)
		},
		Raw:   func(b []byte) { _ = client.SendDatagram(b) },
		Close: fast.Close,
	}, nil
}

func (s *conformingFastServer) Stop() { s.under.Stop() }

// fastInbox passes the datagrams that the client receives to down.
type fastInbox struct {
	down func(number int32, payload []byte)
}

func (in *fastInbox) OnMessage([]byte)        {}
func (in *fastInbox) OnClosed(uint16, string) {}

func (in *fastInbox) onDatagram(b []byte) {
	var h wire.Header
	if packet, err := wire.SplitUnit(b); err == nil && h.Parse(packet) == nil {
		in.down(h.Sequence, h.Payload)
	}
}
