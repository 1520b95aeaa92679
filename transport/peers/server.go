package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/peer"
	"troupe/transport"
)

const (
	callsMax = 4096 // maximum number of concurrent calls from all nodes together; most of them wait, such as AwaitSeats for each game session of a match
	connsMax = 1000 // maximum number of open connections
)

// Server receives requests from other nodes and passes them to a handler. Its methods may be called from any goroutine.
type Server struct {
	o           Options
	handler     messages.Doer
	incarnation atomic.Int64
	grpc        *grpc.Server
	calls       chan struct{}  // contains one entry for each call that is being answered
	refusals    zerolog.Logger // sampled, because anyone can cause refusals
}

// NewServer returns a server that has no incarnation yet. The context of a request has the caller's deadline and replay
// key. It ends when the caller or the server ends. A panic of the handler becomes an error of the request.
func NewServer(o Options, handler messages.Doer) *Server {
	s := &Server{o: o, handler: handler, calls: make(chan struct{}, callsMax)}
	s.refusals = o.Log.Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Minute})
	s.grpc = grpc.NewServer(
		grpc.UnknownServiceHandler(s.handle), grpc.ForceServerCodecV2(codec{}), grpc.WaitForHandlers(true),
		grpc.MaxRecvMsgSize(messageMax), grpc.MaxSendMsgSize(messageMax), grpc.ConnectionTimeout(dialMax),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: silenceMax - pingAfter}),
	)
	return s
}

// SetIncarnation sets the incarnation of this process. The server refuses calls for any other incarnation.
func (s *Server) SetIncarnation(i int64) { s.incarnation.Store(i) }

// Serve answers calls until Close. It owns the listener.
func (s *Server) Serve(l net.Listener) error {
	if s.o.Certs == nil && !loopback(l.Addr()) {
		_ = l.Close()
		return errPlain
	}
	accepted := &listener{Listener: l, s: s, conns: make(chan struct{}, connsMax)}
	if err := s.grpc.Serve(accepted); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Close ends all calls and connections. It returns when all handlers have returned.
func (s *Server) Close() { s.grpc.Stop() }

// handle answers a call.
func (s *Server) handle(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	headers, _ := metadata.FromIncomingContext(ctx)
	if reason := s.misdirected(headers); reason != 0 {
		s.o.Count.PeersRefused.Add(reason, 1)
		return status.Errorf(codes.FailedPrecondition, "this is node %s, incarnation %d", s.o.Node, s.incarnation.Load())
	}
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	default:
		s.o.Count.PeersRefused.Add(counters.PeerFull, 1)
		return status.Errorf(codes.Aborted, "node %s is answering %d calls", s.o.Node, cap(s.calls))
	}
	var body []byte
	if err := stream.RecvMsg(&body); err != nil {
		return err
	}
	name, _ := grpc.MethodFromServerStream(stream)
	if key := headers.Get(headerReplay); len(key) > 0 {
		ctx = messages.WithReplayKey(ctx, key[0])
	}
	answer := s.answer(ctx, strings.TrimPrefix(name, service), body)
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return stream.SendMsg(&answer)
}

// misdirected returns why a call is meant for another process, or 0 if it is meant for this one.
func (s *Server) misdirected(headers metadata.MD) counters.PeerRefusal {
	name, incarnation := headers.Get(headerNode), headers.Get(headerIncarnation)
	switch {
	case len(name) != 1 || name[0] != s.o.Node:
		return counters.PeerName
	case len(incarnation) != 1 || incarnation[0] != strconv.FormatInt(s.incarnation.Load(), 10):
		return counters.PeerIncarnation
	}
	return 0
}

func (s *Server) answer(ctx context.Context, name string, body []byte) (answer []byte) {
	q, err := peer.Decode(name, body)
	if err != nil {
		return peer.EncodeError(err)
	}
	defer transport.Rescue(s.o.Count, &s.o.Log, "call of a peer", func(any) {
		answer = peer.EncodeError(messages.Errorf(messages.Internal, "%s failed at node %s", name, s.o.Node))
	})
	a, err := s.handler.Do(ctx, q)
	answer = peer.EncodeAnswer(q, a, err)
	if len(answer) > messageMax {
		return peer.EncodeError(messages.Errorf(messages.Internal, "the answer to %s has %d bytes, at most %d are allowed between nodes", name, len(answer), messageMax))
	}
	return answer
}

// listener adds TLS, and closes connections in excess of connsMax.
type listener struct {
	net.Listener
	s     *Server
	conns chan struct{} // contains one entry for each open connection
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.conns <- struct{}{}:
			closed := sync.OnceFunc(func() { <-l.conns })
			return &watched{Conn: l.s.secured(conn), closed: closed}, nil
		default:
			l.s.o.Count.PeersRefused.Add(counters.PeerFull, 1)
			_ = conn.Close()
		}
	}
}

// secured returns a connection that makes the TLS handshake at the first read.
func (s *Server) secured(conn net.Conn) net.Conn {
	if s.o.Certs == nil {
		return conn
	}
	return tls.Server(conn, s.o.Certs.server(func(err error) {
		s.o.Count.PeersRefused.Add(counters.PeerCertificate, 1)
		s.refusals.Warn().Stringer("remote", conn.RemoteAddr()).Err(err).Msg("a peer was refused")
	}))
}

// watched is a connection that calls closed when it is closed. A read fails after silence without data.
type watched struct {
	net.Conn
	closed  func()        // may be called more than once
	silence time.Duration // read timeout; 0 means none
}

// Read implements net.Conn.
func (w *watched) Read(b []byte) (int, error) {
	if w.silence > 0 {
		if err := w.SetReadDeadline(time.Now().Add(w.silence)); err != nil {
			return 0, err
		}
	}
	return w.Conn.Read(b)
}

// Close implements net.Conn.
func (w *watched) Close() error {
	w.closed()
	return w.Conn.Close()
}
