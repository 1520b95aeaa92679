package player

import (
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Link is a live connection as seen by the player. Any goroutine may call its methods. They do not block.
type Link interface {
	SetSource(src wire.Source)
	Flush()
	Close(reason messages.CloseReason)
	// PongsInOrder reports whether a pong means that the peer has received everything sent before the ping.
	PongsInOrder() bool
}

// FastLink is a connection's fast channel. Any goroutine may call its methods. They do not block.
type FastLink interface {
	// Ready reports whether the peer has shown that it receives packets on the channel.
	Ready() bool
	// Send sends one frame with the peer's next number. If it cannot, it drops the frame and counts the drop.
	Send(f *wire.Frame) bool
	Close()
}

// FastOffer is a fast channel together with its fields of LOGIN_RESPONSE (realtime.md 6.2).
type FastOffer struct {
	Link    FastLink         // nil if there is no fast channel
	Channel counters.Channel // kind of Link, for metrics
	Port    uint16           // fastPort: 1 to 65535, even if Link is nil
	Anchors []byte           // caCert, secured mode only
	Token   string           // connectToken, secured mode only
}

// LoginConn is a connection that logs in. Any goroutine may call its methods. They do not block.
type LoginConn interface {
	Link() Link
	// OpenFast opens the fast channel for a peer id.
	OpenFast(peer messages.PeerID) FastOffer
	// Bind sends the connection's input to a's game session from now on; false if the connection has ended.
	Bind(a *Attachment) bool
	// SetRefusal sets the reason that a final Refuse gives to the client. It must not be called for an unknown player
	// session id.
	SetRefusal(why wire.Refusal)
	// CountRefusal sets the metric label of a final Refuse, if it differs from the reason given to the client.
	CountRefusal(as counters.LoginRefusal)
	// Refuse refuses the login and closes the connection. A client that uses the extension is told after which time it
	// may retry. If after is 0, the refusal is final.
	Refuse(after time.Duration)
	// Channel names the transport for metrics.
	Channel() counters.Channel
	// Gone reports whether the connection has ended.
	Gone() bool
	// Challenge asks the peer for a sign of life, which Silence then shows.
	Challenge()
	// Silence returns the time since the peer's last sign of life.
	Silence() time.Duration
}
