package dtls

import (
	"crypto/tls"
	"errors"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/transport"
)

// Acceptor accepts or refuses a new association.
type Acceptor interface {
	// Accept is called once the handshake is complete, before any record is handed
	// up. A nil Handler refuses: the association is closed. It must not block, and
	// is called from the goroutine of the handshake.
	Accept(a *Association) Handler
}

// Options configure an Endpoint. The zero value of a limit is its default
// (reliability.md 5.2), negative switches it off.
type Options struct {
	// Addr is host:port to listen on, port 0 for any. Without a host, or with [::],
	// both families are taken.
	Addr string
	// Conn is used instead of Addr, and closed with the Endpoint.
	Conn transport.PacketConn
	// Certificate returns the leaf, with an ECDSA key, and its chain. It is called at
	// every handshake.
	Certificate func() *tls.Certificate

	HalfOpenMax   int     // handshakes at a time; 512
	HalfOpenPerIP int     // the same per IP address (/64 for IPv6); 64
	HelloRate     float64 // new handshakes per second in all, with a burst of HalfOpenMax; 1000
	// HelloRatePerIP is the same per IP address (/64 for IPv6), with a burst of one
	// second; 200. Addresses share buckets where there are more of them than buckets.
	HelloRatePerIP float64
	Timeout        time.Duration // of one handshake; 5 s
	PeersMax       int           // established associations; 65536
	SessionsMax    int           // remembered for resumption, an hour each; 16384
	SocketBuffer   int           // bytes asked of the kernel each way; 1 MiB

	// Admit, if not nil, says whether an address may begin a handshake at all. It is
	// called by the socket's reader, under the endpoint's lock: it must not block.
	Admit func(ip netip.Addr) bool

	// Channel names this endpoint's socket in Writes and BytesOut.
	Channel  counters.Channel
	Log      zerolog.Logger
	Counters *counters.Set // nil: counted nowhere
}

func (o Options) filled() Options {
	fill(&o.HalfOpenMax, 512)
	fill(&o.HalfOpenPerIP, 64)
	fill(&o.HelloRate, 1000)
	fill(&o.HelloRatePerIP, 200)
	fill(&o.Timeout, 5*time.Second)
	fill(&o.PeersMax, 1<<16)
	fill(&o.SessionsMax, 1<<14)
	fill(&o.SocketBuffer, 1<<20)
	fill(&o.Channel, counters.DTLS)
	if o.Counters == nil {
		o.Counters = new(counters.Set)
	}
	return o
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o *Options) validate() error {
	if o.Certificate == nil {
		return errors.New("dtls: no certificate")
	}
	if o.Timeout < 0 {
		return errors.New("dtls: Timeout is negative")
	}
	return nil
}
