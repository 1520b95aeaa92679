package websocket

import (
	"cmp"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// Options configure a Listener. The zero value listens for ws on a free port of all addresses, without admission limits.
type Options struct {
	// Addr is the host:port to listen on, unless Listener is set. Empty, or port 0: any; without a host: both families.
	Addr string
	// Listener is used instead of Addr, and is closed with the Listener.
	Listener net.Listener
	// TLS makes it wss. It must offer no protocol but http/1.1.
	TLS *tls.Config

	// Proxies are load balancers, whose connections begin, before TLS, with a PROXY protocol v2 header and count for the client it names.
	Proxies transport.Proxies
	// Admission limits peers without a login; nil means no limits. Several listeners may share it.
	Admission *transport.Admission
	// Counters are the metrics; nil means a Set of its own.
	Counters *counters.Set
	// Log logs nothing above debug per connection, except for a panic.
	Log zerolog.Logger
	// NextID numbers connections, uniquely in the process: all listeners share it. Nil: a counter of this package.
	NextID func() uint64

	// WriteTimeout is how long a write may make no progress (on Linux also an acknowledgement by the peer's system) before the
	// connection counts as lost; default 10 s (reliability.md 2.7). It is also the TCP_USER_TIMEOUT of a connection that ends.
	WriteTimeout time.Duration
	// CloseLinger is how long Close writes queued frames, and then how long it waits for the peer's answer; default 1 s.
	CloseLinger time.Duration
	// EmptyCloseIsLeave makes a close frame without a code a leave, like 1000 (see the package comment).
	EmptyCloseIsLeave bool
}

const (
	// headerTimeout bounds TLS handshake and request header together (reliability.md 5.2). The answer may take as long again.
	headerTimeout = 5 * time.Second
	// headerBytesMax bounds the request header: a browser sends all cookies of the host name.
	headerBytesMax = 32 << 10
	// messageBytesMax bounds the payload of an inbound message; more is closed with 1009 (realtime.md 13).
	messageBytesMax = wire.UnitMax
	// pendingMessageBytesMax is the same before LoggedIn.
	pendingMessageBytesMax = 8 << 10
	// framesMax bounds the frames of one message; more is closed with 1009: the message is legal, and too big for this host.
	framesMax = 64
	// sendBufferBytes is the kernel's send buffer per connection. With the system's default a stalled peer hides 3.8 MB of backlog.
	sendBufferBytes = 128 << 10
)

// lastID numbers the connections of listeners without NextID.
var lastID atomic.Uint64

// withDefaults returns o with its zero values filled in.
func (o Options) withDefaults() Options {
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.CloseLinger = cmp.Or(o.CloseLinger, time.Second)
	o.Counters = cmp.Or(o.Counters, new(counters.Set))
	if o.NextID == nil {
		o.NextID = func() uint64 { return lastID.Add(1) }
	}
	return o
}
