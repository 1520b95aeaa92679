package transport

import (
	"net/netip"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Conn is the write side of one reliable connection. All methods may be called from any goroutine, and none blocks on the network.
// A closed connection ignores all calls.
type Conn interface {
	// ID is unique within the process and never reused.
	ID() uint64
	// Channel names the transport.
	Channel() counters.Channel
	RemoteAddr() netip.AddrPort
	// SetSource names the queue that Flush drains; nil stops draining. It returns once no drain of the previous source is under way,
	// which may then be handed to another connection.
	SetSource(src wire.Source)
	// Send queues one frame of the host itself, such as a refusal, to be written before further frames of the source. At most 16 may
	// be queued; one more closes the connection. Send consumes one reference to f.
	Send(f *wire.Frame)
	// Flush writes queued frames: as much as the kernel takes without blocking; the connection's own goroutine writes the rest.
	Flush()
	// Ping sends a keep-alive that the peer answers with the same payload, of which it copies at most 125 bytes.
	Ping(payload []byte)
	// LoginRead tells that the peer's LOGIN is being answered, so the connection does not count as silent (Admission).
	LoginRead()
	// Reached reports how many bytes the peer's system has acknowledged, and whether it has received the oldest unanswered ping
	// (true if there is none). A transport that does not know returns 0 and true.
	Reached() (acked uint64, ping bool)
	// PongsInOrder reports whether a pong arrives only after everything that was sent before the ping.
	PongsInOrder() bool
	// LoggedIn tells that the peer is logged in: it no longer counts as pending (Admission).
	LoggedIn()
	// Close writes queued frames for at most one second, sends a close frame with the reason's number and name, and ends the connection.
	Close(reason messages.CloseReason)
}

// FastCarrier is a Conn that carries a fast channel itself.
type FastCarrier interface {
	// OpenFast opens it, in place of an earlier one. A received packet, without its length, goes to onPacket if it is newer than
	// those before, and is valid during the call. onPacket must not block.
	OpenFast(onPacket func(packet []byte)) FastLink
}

// FastLink is the sending side of a fast channel. All methods may be called from any goroutine, and none blocks.
type FastLink interface {
	// Ready reports whether Send can succeed.
	Ready() bool
	// Send sends one frame with the next number of the channel, and reports whether it was sent. It takes no reference to f.
	Send(f *wire.Frame) bool
	// Close ends the channel. Idempotent.
	Close()
}

// Handler takes a connection's input on behalf of the layer above. The connection's reader goroutine calls its methods one at a time,
// in the order of arrival. Bytes are valid only during the call. A method that waits slows down that peer only (back-pressure).
type Handler interface {
	// OnUnit handles one unit (length and packet).
	OnUnit(unit []byte)
	// OnAlive reports a sign of life that carries no packet: the payload of a pong, nil for anything else.
	OnAlive(pong []byte)
	// OnClosed is called once, as the last method. The transport has given up its source by then.
	OnClosed(end End)
}

// End says how a connection ended.
type End struct {
	Clean  bool                 // the peer sent close code 1000: a leave; everything else is a loss (reliability.md 2.1)
	Code   uint16               // the peer's close code, 0 if it sent none
	ByHost messages.CloseReason // the reason the host gave first, 0 if the peer or the network ended it
	Err    error                // what ended the reading, nil after a close frame
}

// Count counts the end of an accepted connection.
func (e End) Count(count *counters.Set, channel counters.Channel) {
	class := counters.ClosedLost
	switch {
	case e.Clean:
		class = counters.ClosedByPeer
	case e.ByHost != 0:
		class = counters.ClosedByHost
		count.CountClose(uint16(e.ByHost))
	}
	count.Closed.Add(class, 1)
	count.Connections.Add(channel, -1)
}

// Nobody is the Handler of a refused connection.
type Nobody struct{}

// OnUnit implements Handler.
func (Nobody) OnUnit([]byte) {}

// OnAlive implements Handler.
func (Nobody) OnAlive([]byte) {}

// OnClosed implements Handler.
func (Nobody) OnClosed(End) {}

// Acceptor makes the Handler of a new connection. The connection's reader calls it once, before any method of the Handler. A nil Handler
// refuses the connection, which is then closed with the returned reason.
type Acceptor interface {
	Accept(c Conn) (Handler, messages.CloseReason)
}
