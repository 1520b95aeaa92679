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

// Carrier is the datagram path under a connection: a *dtls.Association.
type Carrier interface {
	// Write sends a datagram of at most dtls.PlainMax bytes, or returns false. It does not block, keep b or call the connection back.
	Write(b []byte) bool
	RemoteAddr() netip.AddrPort
	// Unread reports whether datagrams wait to be read, perhaps the peer's.
	Unread() bool
	// Close ends the path; it may call OnClosed.
	Close()
}

// Options configure a Listener. Zero values are defaults.
type Options struct {
	Admission *transport.Admission // limits peers without a login; nil for none
	Counters  *counters.Set        // nil: a private Set
	Log       zerolog.Logger       // except for panics, connections log at debug level only
	NextID    func() uint64        // connection ids; shared by all transports

	// WriteTimeout is how long a peer may acknowledge nothing before it is closed with 4007; default 10 s (reliability.md 2.7).
	WriteTimeout time.Duration
	// CloseLinger is how long Close sends queued messages; default 1 s. The bye has another second.
	CloseLinger time.Duration
}

const (
	// messageBytesMax is the largest inbound message. A larger one closes the connection with 1009 (realtime.md 13, D-114).
	messageBytesMax = wire.UnitMax
	// pendingMessageBytesMax is the same before LoggedIn; so is a window of 16 segments.
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
