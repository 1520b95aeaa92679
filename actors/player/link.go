package player

import (
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Link is a live connection as the player sees it. Methods may be called from any goroutine and do not block.
type Link interface {
	SetSource(src wire.Source)
	Flush()
	Close(reason messages.CloseReason)
	// PongsInOrder reports whether a pong means that the peer has received everything sent before the ping.
	PongsInOrder() bool
}

// FastLink is a connection's fast channel. Methods may be called from any goroutine and do not block.
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

// LoginConn is a connection that logs in. Methods may be called from any goroutine and do not block.
type LoginConn interface {
	Link() Link
	// OpenFast sets up the fast channel of a peer.
	OpenFast(peer messages.PeerID) FastOffer
	// Bind sends the connection's input to a's game session from now on; false if the connection has ended.
	Bind(a *Attachment) bool
	// SetRefusal sets the reason of a final Refuse. Not to be called for an unknown player session id.
	SetRefusal(why wire.Refusal)
	// CountRefusal sets the reason under which a final Refuse counts, if that is another than the client is told.
	CountRefusal(as counters.LoginRefusal)
	// Refuse refuses the login and closes. A client of the extension is told when it may retry; 0 is final.
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
