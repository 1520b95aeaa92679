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
	// Accept is called by the handshake's goroutine before any record is delivered. A nil Handler refuses. It must not block.
	Accept(a *Association) Handler
}

// Options configure an Endpoint. For a limit, zero means the default (reliability.md 5.2) and a negative value means no limit.
type Options struct {
	// Addr is host:port; port 0 means any free port. Without a host, or with [::], the socket serves IPv4 and IPv6.
	Addr string
	// Conn is used instead of Addr. The Endpoint closes it.
	Conn transport.PacketConn
	// Certificate is called for every handshake. It returns the leaf certificate, which must have an ECDSA key, and its chain.
	Certificate func() *tls.Certificate

	HalfOpenMax   int     // concurrent handshakes; default 512
	HalfOpenPerIP int     // concurrent handshakes per IP address (/64 for IPv6); default 64
	HelloRate     float64 // new handshakes per second in total, with a burst of HalfOpenMax; default 1000
	// HelloRatePerIP is the limit of new handshakes per second for one IP address (/64 for IPv6). Several
	// addresses may share a bucket. Default 200.
	HelloRatePerIP float64
	Timeout        time.Duration // of one handshake; default 5 s

	// Channel is the channel under which Writes and BytesOut count this endpoint's socket.
	Channel  counters.Channel
	Log      zerolog.Logger
	Counters *counters.Set // nil for a private Set
}

const (
	peersMax    = 1 << 16 // established associations
	sessionsMax = 1 << 14 // sessions remembered for resumption, for an hour each
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
