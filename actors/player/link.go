package player

import (
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Link is a live connection, as the player sees it; transports implement it. Methods
// may be called from any goroutine and do not block.
type Link interface {
	SetSource(src wire.Source)
	Flush()
	Close(reason messages.CloseReason)
	// PongsInOrder reports whether a pong arrives only after the peer has received
	// everything that was sent before the ping.
	PongsInOrder() bool
}

// FastLink is the fast channel of one connection. Methods may be called from
// any goroutine and do not block.
type FastLink interface {
	// Ready reports whether the peer is known to receive on it.
	Ready() bool
	// Send sends one frame, numbered for this peer, or drops and counts it.
	Send(f *wire.Frame) bool
	Close()
}

// FastOffer is a fast channel with its fields of LOGIN_RESPONSE (realtime.md 6.2).
type FastOffer struct {
	Link    FastLink         // nil for none
	Channel counters.Channel // kind of Link, for metrics
	Port    uint16           // fastPort: 1 to 65535, even if Link is nil
	Anchors []byte           // caCert, secured mode only
	Token   string           // connectToken, secured mode only
}

// LoginConn is a connection that wants to log in. Methods may be called from any
// goroutine and do not block.
type LoginConn interface {
	Link() Link
	// OpenFast sets up the fast channel of a peer.
	OpenFast(peer messages.PeerID) FastOffer
	// Bind makes the connection serve a: from now on its input goes to the game
	// session. It returns false if the connection has ended already.
	Bind(a *Attachment) bool
	// SetRefusal sets the reason that a final Refuse gives. It must not be called for an
	// unknown player session id.
	SetRefusal(why wire.Refusal)
	// CountRefusal sets the reason under which a final Refuse counts, if that is another than the client is told.
	CountRefusal(as counters.LoginRefusal)
	// Refuse refuses the login and closes the connection. A client of the extension is
	// told that it may retry after this time; 0 is final.
	Refuse(after time.Duration)
	// Channel names the transport for metrics.
	Channel() counters.Channel
	// Gone reports whether the connection has ended.
	Gone() bool
	// Challenge asks the peer for a sign of life.
	Challenge()
	// Silence returns the time since the last sign of life.
	Silence() time.Duration
}
