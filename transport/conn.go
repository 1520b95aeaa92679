package transport

import (
	"net/netip"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Conn is the write side of one reliable connection. No method blocks on the network. All methods are safe for
// concurrent use. A closed connection ignores all calls.
type Conn interface {
	// ID returns an id that is unique within the process and never reused.
	ID() uint64
	// Channel returns the transport's channel.
	Channel() counters.Channel
	RemoteAddr() netip.AddrPort
	// SetSource sets the queue that Flush drains; nil stops draining. When it returns, no drain of the previous source
	// is running, so that source may be given to another connection.
	SetSource(src wire.Source)
	// Send queues one frame of the host itself, such as a refusal. It is written before further frames of the source.
	// At most 16 frames may be queued; one more closes the connection. Send takes over one reference to f.
	Send(f *wire.Frame)
	// Flush writes queued frames, as much as the kernel accepts without blocking. A goroutine of the connection writes the rest.
	Flush()
	// Ping sends a keep-alive that the peer answers with the same payload. Ping copies the payload, at most 125 bytes of it.
	Ping(payload []byte)
	// LoginRead reports that the peer's LOGIN is being answered, so the connection no longer counts as silent (Admission).
	LoginRead()
	// Reached returns how many bytes the peer's system has acknowledged, and whether the oldest unanswered ping has
	// reached it (true if there is none). A transport that cannot tell returns 0 and true.
	Reached() (acked uint64, ping bool)
	// PongsInOrder reports whether a pong arrives only after everything that was sent before its ping.
	PongsInOrder() bool
	// LoggedIn reports that the peer is logged in, so the connection no longer counts as pending (Admission).
	LoggedIn()
	// Close writes queued frames for at most one second. Then it sends a close frame with the reason's
	// number and name, and ends the connection.
	Close(reason messages.CloseReason)
}

// FastCarrier is a Conn that can also carry a fast channel.
type FastCarrier interface {
	// OpenFast opens the fast channel, which replaces an earlier one. onPacket gets each received packet, without its
	// length, that is newer than all before. The packet is valid only during the call. onPacket must not block.
	OpenFast(onPacket func(packet []byte)) FastLink
}

// FastLink is the sending side of a fast channel. No method blocks. All methods are safe for concurrent use.
type FastLink interface {
	// Ready reports whether Send can succeed.
	Ready() bool
	// Send sends one frame with the next number of the channel, and reports whether it was sent. It takes no reference to f.
	Send(f *wire.Frame) bool
	// Close ends the channel. It is idempotent.
	Close()
}

// Handler handles a connection's input for the layer above. The connection calls its methods one at a time, in the order
// of arrival. Bytes are valid only during the call. A method that blocks slows down only that peer (back-pressure).
type Handler interface {
	// OnUnit handles one unit (length and packet).
	OnUnit(unit []byte)
	// OnAlive reports a sign of life that contains no packet. pong is the payload of a pong, or nil for anything else.
	OnAlive(pong []byte)
	// OnClosed is called once, as the last method. By then the transport no longer uses its source.
	OnClosed(end End)
}

// End says how a connection ended.
type End struct {
	Clean  bool                 // the peer sent close code 1000, which is a leave; every other end is a loss (reliability.md 2.1)
	Code   uint16               // the peer's close code; 0 if it sent none
	ByHost messages.CloseReason // the host's first close reason; 0 if the peer or the network ended the connection
	Err    error                // the error that ended reading; nil after a close frame
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

// Acceptor creates the Handler of a new connection. Accept is called once for each connection, before any method of the
// Handler. If it returns a nil Handler, the connection is closed with the returned reason.
type Acceptor interface {
	Accept(c Conn) (Handler, messages.CloseReason)
}
