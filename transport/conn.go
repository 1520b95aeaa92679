package transport

import (
	"net/netip"
	"strconv"

	"troupe/messages"
	"troupe/messages/wire"
)

// Kind names a transport; it is also the label of its metrics.
type Kind uint8

// Transports.
const (
	WS Kind = iota + 1 // WebSocket over TCP
	WSS
	KCP
	KindCount = int(KCP) + 1 // size of an array indexed by Kind
)

var kindNames = [...]string{"", "ws", "wss", "kcp"}

// String returns the transport's short name.
func (k Kind) String() string {
	if int(k) > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid(" + strconv.Itoa(int(k)) + ")"
}

// Conn is the write side of one reliable connection. All methods may be called
// from any goroutine, none blocks on the network, and none is an error after
// the end: a closed connection ignores them.
type Conn interface {
	// ID is unique within the process and never reused.
	ID() uint64
	// Kind is the transport.
	Kind() Kind
	// RemoteAddr is the peer's address.
	RemoteAddr() netip.AddrPort
	// SetSource names the queue that Flush drains; nil stops draining. It
	// returns once no drain of the previous source is under way, so that the
	// previous source may be handed to another connection.
	SetSource(src wire.Source)
	// Send queues one frame of the host's own before the source is drained
	// again (the answer to a refused login). At most 16 wait; more close the
	// connection. Send consumes one reference to f.
	Send(f *wire.Frame)
	// Flush writes what is queued: as much as the kernel takes at once in the
	// caller's goroutine, the rest in a writer of the connection's own.
	Flush()
	// Ping sends a keep-alive that the peer answers with the same payload, at
	// most 125 bytes. The payload is copied.
	Ping(payload []byte)
	// LoginRead tells the transport that the peer's LOGIN is being answered: it is
	// not silent (Admission).
	LoginRead()
	// Reached tells how far output has come: how many bytes the peer's system has
	// acknowledged, and whether it has the oldest ping that is not answered; true if there
	// is none. A transport that does not know says 0 and true.
	Reached() (acked uint64, ping bool)
	// LoggedIn tells the transport that the peer is logged in: it no longer counts
	// as pending (Admission).
	LoggedIn()
	// Close writes what is queued, for at most one second, then says goodbye
	// with the reason's number and name, and ends the connection.
	Close(reason messages.CloseReason)
}

// Handler is what the layer above does with a connection's input. Its methods
// are called from the connection's reader goroutine, one at a time, in the
// order of arrival; a method that waits is back-pressure on that peer alone.
type Handler interface {
	// OnUnit takes one unit (length and packet). The bytes are valid only
	// during the call.
	OnUnit(unit []byte)
	// OnText takes one text message (proto3 JSON). Valid only during the call.
	OnText(text []byte)
	// OnAlive tells of a sign of life that carries no packet. A pong brings its
	// payload (valid during the call), anything else brings nil.
	OnAlive(pong []byte)
	// OnClosed is called once, last. After it the transport holds no source.
	OnClosed(end End)
}

// End says how a connection ended.
type End struct {
	// Clean is true when the peer sent close code 1000: a leave. Everything else
	// is a loss (reliability.md 2.1).
	Clean bool
	// Code is the peer's close code, 0 if it sent none.
	Code uint16
	// ByHost is the reason the host gave first, 0 if the peer or the network
	// ended it.
	ByHost messages.CloseReason
	// Err is the error that ended the reading, nil after a close frame.
	Err error
}

// Acceptor makes the Handler for a new connection. It is called once per
// connection before any other method, from the goroutine that becomes the
// reader. A nil Handler refuses the connection, which is then closed with
// the given reason.
type Acceptor interface {
	Accept(c Conn) (Handler, messages.CloseReason)
}
