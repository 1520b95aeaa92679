package kcp

import (
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
	// Write sends one datagram of at most dtls.PlainMax bytes; it does not block and
	// does not keep b. False: it was not sent. It must not call the connection back.
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

	// MessageBytesMax is the largest inbound message; default 65536, at most MessageMax. A
	// larger one closes the connection with 1009 (realtime.md 13, D-114).
	MessageBytesMax int
	// PendingMessageBytesMax is the same before LoggedIn; default 8 KiB. A message of more
	// segments than the window before the login (16) closes the connection as well.
	PendingMessageBytesMax int
	// WriteTimeout is how long a peer may acknowledge nothing; default 10 s. Then the
	// connection is closed with 4007 (reliability.md 2.7).
	WriteTimeout time.Duration
	// CloseLinger is how long Close sends queued messages; default 1 s. The bye has
	// another second.
	CloseLinger time.Duration
}

// lastID numbers the connections of listeners without NextID.
var lastID atomic.Uint64

// withDefaults returns o with its zero values filled in.
func (o Options) withDefaults() Options {
	setDefault(&o.MessageBytesMax, wire.UnitMax)
	o.MessageBytesMax = min(o.MessageBytesMax, MessageMax)
	setDefault(&o.PendingMessageBytesMax, 8<<10)
	o.PendingMessageBytesMax = min(o.PendingMessageBytesMax, o.MessageBytesMax)
	setDefault(&o.WriteTimeout, 10*time.Second)
	setDefault(&o.CloseLinger, time.Second)
	if o.Counters == nil {
		o.Counters = new(counters.Set)
	}
	if o.NextID == nil {
		o.NextID = func() uint64 { return lastID.Add(1) }
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
