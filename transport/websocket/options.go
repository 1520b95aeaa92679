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

// Options configure a Listener. The zero value listens for ws on all addresses, on a free port, without admission limits.
type Options struct {
	// Addr is the host:port to listen on, unless Listener is set. An empty Addr or port 0 means any free port. Without
	// a host, the socket serves IPv4 and IPv6.
	Addr string
	// Listener is used instead of Addr. Close closes it.
	Listener net.Listener
	// TLS enables wss. It must offer no protocol except http/1.1.
	TLS *tls.Config

	// Proxies are the addresses of load balancers. Their connections begin with a PROXY protocol v2 header, before TLS.
	// Such a connection counts for the client that the header names.
	Proxies transport.Proxies
	// Admission limits peers without a login; nil means no limits. Several listeners may share it.
	Admission *transport.Admission
	// Counters are the metrics; nil means a private Set.
	Counters *counters.Set
	// Log receives lines above debug level about a connection only after a panic.
	Log zerolog.Logger
	// NextID returns connection ids, which are unique across all listeners of the process. If nil, this package counts its own.
	NextID func() uint64

	// WriteTimeout is how long a write may make no progress before the connection counts as lost; default 10 s (reliability.md 2.7).
	// On Linux an acknowledgement by the peer's system is progress, too. When a connection ends, this is also its TCP_USER_TIMEOUT.
	WriteTimeout time.Duration
	// CloseLinger is how long Close writes queued frames. It is also how long Close then waits for
	// the peer's close frame. The default is 1 s.
	CloseLinger time.Duration
	// EmptyCloseIsLeave makes a close frame without a code count as a leave, like code 1000 (see the package comment).
	EmptyCloseIsLeave bool
}

const (
	// headerTimeout limits the TLS handshake and the request header together (reliability.md
	// 5.2). The response may take as long again.
	headerTimeout = 5 * time.Second
	// headerBytesMax limits the request header. A browser sends all cookies of the host name.
	headerBytesMax = 32 << 10
	// messageBytesMax limits the payload of an inbound message. A larger message closes the connection with 1009 (realtime.md 13).
	messageBytesMax = wire.UnitMax
	// pendingMessageBytesMax replaces messageBytesMax before LoggedIn.
	pendingMessageBytesMax = 8 << 10
	// framesMax limits the frames of one message. A message with more frames closes the connection with
	// 1009: it is legal, but too big for this host.
	framesMax = 64
	// sendBufferBytes is the size of the kernel's send buffer for a connection. With the system's default, the kernel
	// would accept up to 3.8 MB for a stalled peer.
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
