package dtls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"

	_ "github.com/pion/dtls/v2"
	_ "golang.org/x/crypto/chacha20poly1305"
)

// PlainMax is the largest plain text of one record in either direction, in
// bytes: what a stock client's buffer holds is less than 2048 (realtime.md 8.2).
const PlainMax = 1400

// ErrClosed is what OnClosed gets when this side closed the association.
var ErrClosed = errors.New("dtls: association is closed")

// ErrPeerClosed is what OnClosed gets after the peer's close_notify.
var ErrPeerClosed = errors.New("dtls: the peer closed the association")

// Handler takes what arrives on an Association.
type Handler interface {
	// OnRecord takes the plain text of one authenticated application record, at
	// most 2048 bytes, valid only during the call. Calls come from the socket's
	// reader, one at a time, and hold up every peer of that socket: the handler
	// must not block.
	OnRecord(plain []byte)
	// OnClosed is called once, last, when the association has ended for whatever
	// reason. It must not block.
	OnClosed(err error)
}

// Acceptor decides what becomes of a new association.
type Acceptor interface {
	// Accept is called once the handshake is complete, before any record is handed
	// up. A nil Handler refuses: the association is closed. It must not block.
	Accept(a *Association) Handler
}

// Options configure an Endpoint. The zero value of a limit is its default.
type Options struct {
	Addr         string                  // host:port, port 0 for any
	Conn         PacketConn              // instead of Addr: an in-memory socket
	Certificate  func() *tls.Certificate // leaf and chain, asked for at every handshake
	HalfOpenMax  int                     // handshakes at a time; default 512
	HalfOpenPer  int                     // the same per IP address (/64 for IPv6); default 8
	HelloRate    float64                 // new handshakes per second in all; default 1000
	Timeout      time.Duration           // for a handshake; default 5 s
	MaxPeers     int                     // established associations; default 65536
	SocketBuffer int                     // bytes asked of the kernel; default 1 MiB, negative leaves it alone
	Log          zerolog.Logger
	Counters     *counters.Set
}

// PacketConn is what an Endpoint needs of a *net.UDPConn.
type PacketConn interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, addr netip.AddrPort) (int, error)
	LocalAddr() net.Addr
	Close() error
}

// Endpoint is one UDP socket and all associations on it.
type Endpoint struct{}

// Listen binds the socket and serves it until Close.
func Listen(o Options, acceptor Acceptor) (*Endpoint, error) { panic("not built yet") }

// Addr is where it listens, with the real port.
func (e *Endpoint) Addr() *net.UDPAddr { panic("not built yet") }

// Close ends every association (with close_notify) and the socket, and returns
// when no goroutine is left.
func (e *Endpoint) Close() error { panic("not built yet") }

// Association is one established DTLS association, of either side. All methods
// may be called from any goroutine and none blocks.
type Association struct{}

// RemoteAddr is the peer's address.
func (a *Association) RemoteAddr() netip.AddrPort { panic("not built yet") }

// Write seals plain as one record and hands it to the kernel. False means that
// it was not sent, which is counted: closed, over PlainMax, or the kernel did
// not take it at once. Sent is not delivered. It does not keep plain.
func (a *Association) Write(plain []byte) bool { panic("not built yet") }

// Close sends close_notify and ends the association; OnClosed follows, perhaps
// from another goroutine. Idempotent.
func (a *Association) Close() { panic("not built yet") }

// DialOptions are what a client needs.
type DialOptions struct {
	Addr       string         // host:port
	Conn       net.Conn       // instead of Addr: a connected UDP socket or an in-memory one; owned by the association
	Roots      *x509.CertPool // nil: the system's
	ServerName string         // name that the certificate must carry; default the host of Addr
	Sessions   *Sessions      // for resumption; nil for none
	Log        zerolog.Logger
}

// Sessions remembers what is needed to resume associations, by server name and
// address. Safe for concurrent use; bounded.
type Sessions struct{}

// NewSessions returns an empty store of at most 64 entries.
func NewSessions() *Sessions { panic("not built yet") }

// Dial makes a client association; ctx bounds the handshake alone. The handler
// made by accept gets what arrives; it is called before Dial returns.
func Dial(ctx context.Context, o DialOptions, accept func(a *Association) Handler) (*Association, error) {
	panic("not built yet")
}
