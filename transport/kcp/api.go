package kcp

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/rs/zerolog"
	_ "github.com/xtaci/kcp-go/v5"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/dtls"
)

// Carrier is the datagram path under a connection: a *dtls.Association.
type Carrier interface {
	// Write sends one datagram of at most dtls.PlainMax bytes; it does not block and
	// does not keep b. False: it was not sent.
	Write(b []byte) bool
	RemoteAddr() netip.AddrPort
	Close()
}

// Options configure a Listener. Zero values are defaults.
type Options struct {
	Admission *transport.Admission // limits peers without a login; nil for none
	Counters  *counters.Set
	Log       zerolog.Logger
	NextID    func() uint64 // connection ids; shared by all transports

	MessageBytesMax        int           // inbound message; default 65536, more closes with 1009
	PendingMessageBytesMax int           // the same before LoggedIn; default 8 KiB
	WriteTimeout           time.Duration // without progress; default 10 s, closes with 4007
	CloseLinger            time.Duration // how long Close writes what is queued; default 1 s
}

// Listener makes connections of the associations of a dtls.Endpoint, whose
// Acceptor it is.
type Listener struct{}

func NewListener(o Options, acceptor transport.Acceptor) *Listener { panic("not built yet") }

// Accept implements dtls.Acceptor.
func (l *Listener) Accept(a *dtls.Association) dtls.Handler { panic("not built yet") }

// Close makes Accept refuse from now on; open connections stay.
func (l *Listener) Close()                               { panic("not built yet") }
func (l *Listener) CloseAll(reason messages.CloseReason) { panic("not built yet") }
func (l *Listener) Wait(ctx context.Context) error       { panic("not built yet") }
func (l *Listener) Len() int                             { panic("not built yet") }

// Conn implements transport.Conn on the host's side.
type Conn struct{}

// OpenFast returns the connection's own fast channel: unreliable datagrams beside
// KCP in the same association. What arrives goes to onPacket (one packet without
// its length, newest wins, valid during the call, from the socket's reader: it
// must not block). A second call replaces the first, numbers start at 0 again.
func (c *Conn) OpenFast(onPacket func(packet []byte)) *Fast { panic("not built yet") }

// Fast is the outgoing side of the fast channel.
type Fast struct{}

func (f *Fast) Ready() bool              { panic("not built yet") }
func (f *Fast) Send(fr *wire.Frame) bool { panic("not built yet") }
func (f *Fast) Close()                   { panic("not built yet") }

// Stream is the client's side of one connection.
type Stream struct{}

// StreamHandler takes what arrives on a Stream, one call at a time.
type StreamHandler interface {
	// OnMessage takes one reliable message, valid during the call. A call that waits
	// is back-pressure on the host.
	OnMessage(message []byte)
	// OnDatagram takes one unreliable datagram, valid during the call. Must not block.
	OnDatagram(datagram []byte)
	// OnClosed is called once, last.
	OnClosed(end StreamEnd)
}

// StreamEnd says how a Stream ended.
type StreamEnd struct {
	Code   uint16 // the host's close reason number, 0 if it said none
	Reason string
	Err    error // nil after the host's goodbye, and after Close
}

// DialOptions are what Dial needs.
type DialOptions struct {
	DTLS         dtls.DialOptions
	SilenceMax   time.Duration // without a sign of the host; default 10 s
	WriteTimeout time.Duration // without progress; default 10 s
	QueueMax     int           // messages that may wait in Send; default 1024
}

// Dial makes the association and the stream. Ctx bounds this alone.
func Dial(ctx context.Context, o DialOptions, h StreamHandler) (*Stream, error) {
	panic("not built yet")
}

// Send queues one reliable message and waits while the queue is full.
func (s *Stream) Send(ctx context.Context, message []byte) error { panic("not built yet") }

// SendDatagram sends one unreliable datagram, or does not.
func (s *Stream) SendDatagram(b []byte) error { panic("not built yet") }

// Close delivers what is queued, says goodbye with a code (1000 is a leave) and
// returns when nothing is left, after at most about two seconds.
func (s *Stream) Close(code uint16) { panic("not built yet") }

// Abort drops the stream without a word.
func (s *Stream) Abort() { panic("not built yet") }

func (s *Stream) LocalAddr() net.Addr  { panic("not built yet") }
func (s *Stream) RemoteAddr() net.Addr { panic("not built yet") }
