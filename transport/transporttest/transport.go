package transporttest

import (
	"context"
	"net/netip"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/transporttest/memnet"
)

// TB is the part of testing.TB that checks use. FailNow, and therefore Fatalf, ends the calling goroutine,
// which must be the one that runs the check.
type TB interface {
	Cleanup(func())
	Errorf(format string, args ...any)
	Failed() bool
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
}

// Transport is the transport under test. It must not hold a sync.Mutex while it waits for the network: in a
// synctest bubble, virtual time does not advance while a goroutine waits for a mutex, so the test would hang.
// Use a channel instead.
type Transport interface {
	// Start starts a host side whose counters are zero. Every error is fatal.
	Start(tb TB, o Options) Server
}

// Options configures a host side.
type Options struct {
	Network   *memnet.Network // the network to listen on
	Acceptor  transport.Acceptor
	Admission *transport.Admission // may be nil
	Counters  *counters.Set
	NextID    func() uint64

	MessageBytesMax        int
	PendingMessageBytesMax int
	WriteTimeout           time.Duration
	CloseLinger            time.Duration
}

// Server is a running host side.
type Server interface {
	// Dial connects a client. The client has its own address if the network has several. From then on, the
	// inbox receives what arrives.
	Dial(ctx context.Context, in Inbox) (Client, error)
	// Stop closes everything, including clients, and returns when all their goroutines have ended.
	Stop()
}

// Client is the peer of one connection. It answers pings, except while its inbox blocks. It buffers a bounded
// amount for the inbox: at most half a megabyte, including all buffers along the path.
type Client interface {
	// Addr returns the client's own address.
	Addr() netip.AddrPort
	// Send sends one reliable message. It may block until there is room.
	Send(message []byte) error
	// Raw sends bytes without the transport's framing.
	Raw(b []byte) error
	// Close leaves with code 1000 after everything that was sent. It returns when the connection has ended,
	// or when waiting for that has timed out.
	Close()
	// Abort drops the connection without a close message of the transport.
	Abort()
}

// Inbox receives what arrives at a client. Its methods are never called concurrently. While a call blocks,
// the client does not read.
type Inbox interface {
	// OnMessage receives one reliable message, which is valid during the call only.
	OnMessage(message []byte)
	// OnClosed is called once and is the last call. It receives the number and name that the host sent, or 0
	// if the host sent none.
	OnClosed(code uint16, name string)
}
