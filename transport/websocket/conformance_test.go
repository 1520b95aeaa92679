package websocket

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"troupe/messages"
	"troupe/transport/transporttest"
	"troupe/transport/transporttest/memnet"
)

func TestConformance(t *testing.T)    { transporttest.Run(t, conforming{}) }
func TestConformanceWSS(t *testing.T) { transporttest.Run(t, conforming{secure: true}) }

// conforming is this package, with ws or wss, as an implementation for the conformance suite.
type conforming struct{ secure bool }

func (c conforming) Start(tb transporttest.TB, o transporttest.Options) transporttest.Server {
	s := &conformingServer{network: o.Network, served: make(chan error, 1)}
	cert, roots := transporttest.Trusted()
	if c.secure {
		s.tls = &tls.Config{RootCAs: roots, ServerName: "localhost"}
	}
	opt := Options{
		Admission: o.Admission, Counters: o.Counters, NextID: o.NextID,
		WriteTimeout: o.WriteTimeout, CloseLinger: o.CloseLinger,
	}
	if c.secure {
		opt.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
	}
	var err error
	if opt.Listener, err = o.Network.Node().Listen(0); err != nil {
		tb.Fatal(err)
	}
	if s.Listener, err = Listen(opt); err != nil {
		tb.Fatal(err)
	}
	go func() { s.served <- s.Serve(o.Acceptor) }()
	return s
}

type conformingServer struct {
	*Listener
	network *memnet.Network
	served  chan error
	tls     *tls.Config    // of clients; nil for ws
	running sync.WaitGroup // readers of clients

	mu      sync.Mutex
	clients []*conformingClient
}

func (s *conformingServer) Dial(ctx context.Context, in transporttest.Inbox) (transporttest.Client, error) {
	raw, err := s.network.Node().Dial(ctx, addrPort(s.Addr()))
	if err != nil {
		return nil, err
	}
	var conn net.Conn = raw
	if s.tls != nil {
		conn = tls.Client(conn, s.tls)
	}
	cl := &conformingClient{raw: raw, conn: conn, br: bufio.NewReader(conn), in: in, gone: make(chan struct{}), turn: make(chan struct{}, 1)}
	_, err = io.WriteString(conn, request("/websocket"))
	if err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(cl.br, nil); err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
			err = errors.New(resp.Status)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	s.mu.Lock()
	s.clients = append(s.clients, cl)
	s.mu.Unlock()
	s.running.Go(cl.read)
	return cl, nil
}

func (s *conformingServer) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = s.Close(ctx)
	s.CloseAll(messages.CloseGoingAway)
	s.mu.Lock()
	for _, cl := range s.clients {
		cl.Abort()
	}
	s.mu.Unlock()
	_ = s.Wait(ctx)
	s.running.Wait()
	<-s.served
}

// conformingClient has its own reader, which answers pings and close frames.
type conformingClient struct {
	raw  *memnet.Stream // the socket under TLS, if there is TLS
	conn net.Conn
	br   *bufio.Reader
	in   transporttest.Inbox
	gone chan struct{} // closed when the reader has ended
	turn chan struct{} // holds a token while a goroutine writes; a mutex would stop the bubble's clock
}

func (cl *conformingClient) read() {
	defer close(cl.gone)
	defer cl.conn.Close()
	code, name := uint16(0), ""
	for {
		first, payload, err := readFrame(cl.br)
		if err != nil {
			break
		}
		switch first {
		case 0x82:
			cl.in.OnMessage(payload)
		case 0x89:
			_ = cl.Raw(masked(0x8A, payload))
		case 0x88:
			if len(payload) >= 2 {
				code, name = binary.BigEndian.Uint16(payload), string(payload[2:])
			}
			_ = cl.Raw(masked(0x88, payload))
		}
	}
	cl.in.OnClosed(code, name)
}

func (cl *conformingClient) Addr() netip.AddrPort { return addrPort(cl.conn.LocalAddr()) }

func (cl *conformingClient) Send(message []byte) error { return cl.Raw(masked(0x82, message)) }

func (cl *conformingClient) Raw(b []byte) error {
	cl.turn <- struct{}{}
	defer func() { <-cl.turn }()
	_, err := cl.conn.Write(b)
	return err
}

func (cl *conformingClient) Close() {
	_ = cl.Raw(closeFrame(1000, ""))
	limit := time.AfterFunc(time.Minute, func() { _ = cl.conn.Close() })
	defer limit.Stop()
	<-cl.gone
}

func (cl *conformingClient) Abort() { cl.raw.Reset() }
