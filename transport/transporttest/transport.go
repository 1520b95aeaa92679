package transporttest

import (
	"context"
	"net/netip"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/transporttest/memnet"
)

// TB is the part of testing.TB that checks use. FailNow, and so Fatalf, ends the
// calling goroutine, which must be the one that runs the check.
type TB interface {
	Cleanup(func())
	Errorf(format string, args ...any)
	Failed() bool
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
}

// Transport is what is tested. Nothing of it may hold a sync.Mutex while it waits
// for the network: in a synctest bubble time stands still while somebody waits for
// a mutex, and so does the test. A channel does.
type Transport interface {
	// Start starts a host side with empty counters. Every error is fatal.
	Start(tb TB, o Options) Server
}

// Options are what a host side is started with.
type Options struct {
	Network   *memnet.Network // where to listen
	Acceptor  transport.Acceptor
	Admission *transport.Admission // nil for none
	Counters  *counters.Set
	NextID    func() uint64

	MessageBytesMax        int
	PendingMessageBytesMax int
	WriteTimeout           time.Duration
	CloseLinger            time.Duration
}

// Server is a host side.
type Server interface {
	// Dial connects a client that has an address of its own, where the network has
	// more than one. From then on the inbox gets what arrives.
	Dial(ctx context.Context, in Inbox) (Client, error)
	// Stop closes what is open, clients included, and returns when no goroutine of
	// theirs is left.
	Stop()
}

// Client is the peer of one connection. It answers pings, unless its inbox holds
// it up. What it keeps unread for its inbox is bounded: half a megabyte together
// with all buffers on the way.
type Client interface {
	// Addr is its own address.
	Addr() netip.AddrPort
	// Send sends one reliable message; it may wait until there is room.
	Send(message []byte) error
	// Raw puts bytes where the transport's own framing belongs.
	Raw(b []byte) error
	// Close leaves with code 1000 behind what was sent. It returns when the
	// connection is gone, or has been given up.
	Close()
	// Abort drops the connection without a word of the transport's.
	Abort()
}

// Inbox takes what a client receives, one call at a time. A call that waits keeps
// the client from reading on.
type Inbox interface {
	// OnMessage takes one reliable message, valid during the call.
	OnMessage(message []byte)
	// OnClosed is called once, last: with the number and name the host gave, or
	// with 0.
	OnClosed(code uint16, name string)
}
