package websocket

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// Options configure a Listener. The zero value listens for ws on a free port of
// all addresses, without admission limits.
type Options struct {
	// Addr is the host:port to listen on; port 0 or an empty Addr takes a free
	// port. Without a host all addresses of both families are taken. Ignored when
	// Listener is set.
	Addr string
	// Listener is used instead of Addr, and is closed with the Listener.
	Listener net.Listener
	// TLS makes it wss. It must offer no protocol but http/1.1; the TLS handshake
	// is part of HeaderTimeout.
	TLS *tls.Config
	// Kind is transport.WS or transport.WSS; the default goes by TLS. A Listener may
	// bring TLS of its own.
	Kind transport.Kind

	// Proxies are load balancers: a connection from one must begin with a PROXY protocol v2
	// header, before TLS, and counts for the client that the header names.
	Proxies transport.Proxies
	// Admission limits peers without a login; nil means no limits. It may be
	// shared by several listeners.
	Admission *transport.Admission
	// Counters are the metrics; nil means a Set of its own.
	Counters *counters.Set
	// Log is the logger; the zero value logs nothing. Nothing above debug is
	// logged per connection, except for a panic.
	Log zerolog.Logger
	// NextID numbers connections and must never return a number twice in one
	// process; give all listeners of all transports the same one. Nil means a
	// counter that all listeners of this package share.
	NextID func() uint64

	// HeaderTimeout bounds TLS handshake and request header together; default 5 s
	// (reliability.md 5.2). The answer may take as long again.
	HeaderTimeout time.Duration
	// HeaderBytesMax bounds the request header; default 32 KiB, because a browser sends all cookies of the host name.
	HeaderBytesMax int
	// MessageBytesMax bounds the payload of an inbound message; default 65536,
	// more is closed with 1009 (realtime.md 13).
	MessageBytesMax int
	// PendingMessageBytesMax is the same before LoggedIn; default 8 KiB, at most
	// MessageBytesMax.
	PendingMessageBytesMax int
	// FragmentsMax bounds the frames of one message; default 64, more is closed
	// with 1009: the message is legal, and too big for this host.
	FragmentsMax int

	// WriteTimeout is how long a write may make no progress before the connection counts as
	// lost; default 10 s (reliability.md 2.7). On Linux, an acknowledgement by the peer's
	// system is progress. It is also the TCP_USER_TIMEOUT of a connection that ends.
	WriteTimeout time.Duration
	// SendBufferBytes is the kernel's send buffer per connection; default 128 KiB,
	// negative leaves it to the system. With the system's default a stalled peer
	// hides 3.8 MB of backlog.
	SendBufferBytes int
	// CloseLinger is how long Close writes queued frames, and how long it then waits for the
	// peer's answer; default 1 s. Closing never takes longer than both together.
	CloseLinger time.Duration
	// EmptyCloseIsLeave makes a close frame without a code a leave, like 1000.
	// Default false: reliability.md 2.1 by the letter. See the package comment.
	EmptyCloseIsLeave bool
}

// lastID numbers the connections of listeners without NextID. It is global, because ids are
// unique within the process.
var lastID atomic.Uint64

func nextID() uint64 { return lastID.Add(1) }

// withDefaults returns o with its zero values filled in.
func (o Options) withDefaults() Options {
	if o.TLS != nil {
		setDefault(&o.Kind, transport.WSS)
	}
	setDefault(&o.Kind, transport.WS)
	setDefault(&o.HeaderTimeout, 5*time.Second)
	setDefault(&o.HeaderBytesMax, 32<<10)
	setDefault(&o.MessageBytesMax, wire.UnitMax)
	setDefault(&o.PendingMessageBytesMax, min(8<<10, o.MessageBytesMax))
	setDefault(&o.FragmentsMax, 64)
	setDefault(&o.WriteTimeout, 10*time.Second)
	setDefault(&o.SendBufferBytes, 128<<10)
	setDefault(&o.CloseLinger, time.Second)
	if o.Counters == nil {
		o.Counters = new(counters.Set)
	}
	if o.NextID == nil {
		o.NextID = nextID
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate checks filled-in options.
func (o Options) validate() error {
	switch {
	case o.Kind != transport.WS && o.Kind != transport.WSS:
		return fmt.Errorf("websocket: kind %v is not ws or wss", o.Kind)
	case o.HeaderBytesMax < 1:
		return fmt.Errorf("websocket: HeaderBytesMax %d is below 1", o.HeaderBytesMax)
	case o.MessageBytesMax < 1 || o.MessageBytesMax > 1<<30:
		return fmt.Errorf("websocket: MessageBytesMax %d is not within 1 and 2^30", o.MessageBytesMax)
	case o.PendingMessageBytesMax < 1 || o.PendingMessageBytesMax > o.MessageBytesMax:
		return fmt.Errorf("websocket: PendingMessageBytesMax %d is not within 1 and %d", o.PendingMessageBytesMax, o.MessageBytesMax)
	case o.FragmentsMax < 1:
		return fmt.Errorf("websocket: FragmentsMax %d is below 1", o.FragmentsMax)
	case o.HeaderTimeout < 0 || o.WriteTimeout < 0 || o.CloseLinger < 0:
		return fmt.Errorf("websocket: negative timeout")
	}
	return nil
}
