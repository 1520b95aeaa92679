package kcp

import (
	"cmp"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// Carrier is the datagram path that a connection uses: a *dtls.Association.
type Carrier interface {
	// Write sends a datagram of at most dtls.PlainMax bytes and reports whether it was sent. It does not block, does
	// not retain b, and does not call back into the connection.
	Write(b []byte) bool
	RemoteAddr() netip.AddrPort
	// Unread reports whether the socket has many unread datagrams. They may be from any peer.
	Unread() bool
	// Close ends the path; it may call OnClosed.
	Close()
}

// Options configure a Listener. A zero value means the default.
type Options struct {
	Admission *transport.Admission // limits peers without a login; nil for no limits
	Counters  *counters.Set        // nil for a private Set
	Log       zerolog.Logger       // connections log at debug level only, except for panics
	NextID    func() uint64        // returns connection ids, which are unique across all transports

	// WriteTimeout is how long a peer may fail to acknowledge sent data before the connection is closed with 4007.
	// The default is 10 s (reliability.md 2.7).
	WriteTimeout time.Duration
	// CloseLinger is how long Close keeps sending queued messages. The default is 1 s. The bye may take another second.
	CloseLinger time.Duration
}

const (
	// messageBytesMax is the largest inbound message, in bytes. A larger one closes the connection with 1009 (realtime.md 13, D-114).
	messageBytesMax = wire.UnitMax
	// pendingMessageBytesMax replaces messageBytesMax before LoggedIn. Until then the window is limited to pendingSegments, too.
	pendingMessageBytesMax = 8 << 10
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
