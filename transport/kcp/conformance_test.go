package kcp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/dtls"
	"troupe/transport/transporttest"
	"troupe/transport/transporttest/memnet"
)

func TestConformance(t *testing.T) { transporttest.Run(t, conforming{}) }

// conforming is this package, over DTLS, as an implementation for the conformance suite.
type conforming struct{}

func (conforming) Start(tb transporttest.TB, o transporttest.Options) transporttest.Server {
	s := &conformingServer{network: o.Network}
	s.Listener = NewListener(Options{
		Admission: o.Admission, Counters: o.Counters, NextID: o.NextID,
		WriteTimeout: o.WriteTimeout, CloseLinger: o.CloseLinger,
	}, o.Acceptor)
	cert, _ := transporttest.Trusted()
	under := dtls.Options{
		Certificate: func() *tls.Certificate { return cert },
		Channel:     counters.KCP, Counters: o.Counters, HalfOpenPerIP: 64,
	}
	var err error
	if under.Conn, err = o.Network.Node().ListenPacket(0); err != nil {
		tb.Fatal(err)
	}
	if s.endpoint, err = dtls.Listen(under, s.Listener); err != nil {
		tb.Fatal(err)
	}
	return s
}

type conformingServer struct {
	*Listener
	endpoint *dtls.Endpoint
	network  *memnet.Network

	mu      sync.Mutex
	clients []*conformingClient
}

func (s *conformingServer) Dial(ctx context.Context, in transporttest.Inbox) (transporttest.Client, error) {
	cl, err := s.dial(ctx, in, func([]byte) {})
	if err != nil {
		return nil, err
	}
	return cl, nil
}

func (s *conformingServer) dial(ctx context.Context, in transporttest.Inbox, onDatagram func(b []byte)) (*conformingClient, error) {
	conn, err := s.network.Node().DialPacket(s.endpoint.Addr().(*net.UDPAddr).AddrPort())
	if err != nil {
		return nil, err
	}
	_, roots := transporttest.Trusted()
	cl := &conformingClient{Inbox: in, onDatagram: onDatagram, addr: conn.LocalAddr().(*net.UDPAddr).AddrPort()}
	cl.Stream, err = Dial(ctx, DialOptions{
		DTLS:       dtls.DialOptions{Conn: conn, Roots: roots, ServerName: "localhost"},
		SilenceMax: time.Hour, WriteTimeout: time.Hour, // the checks must not depend on the client's timeouts
		QueueMax: 8, // messages, of 64 KiB each
	}, cl)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, cl)
	return cl, nil
}

func (s *conformingServer) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.Listener.Close()
	s.CloseAll(messages.CloseGoingAway)
	s.mu.Lock()
	for _, cl := range s.clients {
		cl.Abort()
	}
	s.mu.Unlock()
	_ = s.Wait(ctx)
	_ = s.endpoint.Close()
	for _, cl := range s.clients {
		<-cl.closed
	}
}

type conformingClient struct {
	transporttest.Inbox
	*Stream
	onDatagram func(b []byte)
	addr       netip.AddrPort
}

// OnDatagram implements StreamHandler.
func (cl *conformingClient) OnDatagram(b []byte) { cl.onDatagram(b) }

// OnClosed implements StreamHandler.
func (cl *conformingClient) OnClosed(end StreamEnd) { cl.Inbox.OnClosed(end.Code, end.Reason) }

func (cl *conformingClient) Addr() netip.AddrPort { return cl.addr }

func (cl *conformingClient) Send(message []byte) error {
	return cl.Stream.Send(context.Background(), message)
}

// Raw sends any bytes as plain text of records, as an authenticated peer may do.
func (cl *conformingClient) Raw(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), dtls.PlainMax)
		if !cl.e.write(b[:n]) {
			return errors.New("not sent")
		}
		b = b[n:]
	}
	return nil
}

func (cl *conformingClient) Close() { cl.Stream.Close(uint16(messages.CloseNormal)) }
