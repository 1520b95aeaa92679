package dtls

import (
	"cmp"
	"crypto/tls"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/transport"
)

// Acceptor accepts or refuses a new association.
type Acceptor interface {
	// Accept is called by the handshake's goroutine, before any record is handed up. A nil Handler refuses. It must not block.
	Accept(a *Association) Handler
}

// Options configure an Endpoint. A limit of zero is its default (reliability.md 5.2), a negative one is off.
type Options struct {
	// Addr is host:port, port 0 for any. Without a host, or with [::], both families are taken.
	Addr string
	// Conn is used instead of Addr, and closed with the Endpoint.
	Conn transport.PacketConn
	// Certificate returns the leaf, with an ECDSA key, and its chain, at every handshake.
	Certificate func() *tls.Certificate

	HalfOpenMax   int     // handshakes at a time; 512
	HalfOpenPerIP int     // the same per IP address (/64 for IPv6); 64
	HelloRate     float64 // new handshakes per second in all, with a burst of HalfOpenMax; 1000
	// HelloRatePerIP is the same per IP address (/64 for IPv6), which may share a bucket; 200.
	HelloRatePerIP float64
	Timeout        time.Duration // of one handshake; 5 s

	// Channel names this endpoint's socket in Writes and BytesOut.
	Channel  counters.Channel
	Log      zerolog.Logger
	Counters *counters.Set // nil: counted nowhere
}

const (
	peersMax    = 1 << 16 // established associations
	sessionsMax = 1 << 14 // remembered for resumption, an hour each
)

func (o Options) filled() Options {
	o.HalfOpenMax = cmp.Or(o.HalfOpenMax, 512)
	o.HalfOpenPerIP = cmp.Or(o.HalfOpenPerIP, 64)
	o.HelloRate = cmp.Or(o.HelloRate, 1000)
	o.HelloRatePerIP = cmp.Or(o.HelloRatePerIP, 200)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.Channel = cmp.Or(o.Channel, counters.DTLS)
	o.Counters = cmp.Or(o.Counters, new(counters.Set))
	return o
}
