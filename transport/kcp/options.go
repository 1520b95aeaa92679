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
	// Close ends the path; it may call OnClosed.
	Close()
}

// Options configure a Listener. Zero values are defaults.
type Options struct {
	Admission *transport.Admission // limits peers without a login; nil for none
	Counters  *counters.Set        // nil means a Set that nobody sees
	Log       zerolog.Logger       // nothing above debug is logged per connection, except for a panic
	NextID    func() uint64        // connection ids; shared by all transports

	// MessageBytesMax bounds an inbound message; default 65536, at most MessageMax;
	// more is closed with 1009 (realtime.md 13, D-114).
	MessageBytesMax int
	// PendingMessageBytesMax is the same before LoggedIn; default 8 KiB. A message
	// of more segments than the pending window holds (16) is refused as well.
	PendingMessageBytesMax int
	// WriteTimeout is how long a peer may acknowledge nothing of what is sent;
	// default 10 s, closes with 4007 (reliability.md 2.7).
	WriteTimeout time.Duration
	// CloseLinger is how long Close sends what is queued; default 1 s. The goodbye
	// has another second.
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
