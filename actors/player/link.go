package player

import (
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Link is what a player needs of a live connection. A transport's connection
// is one. Methods may be called from any goroutine and do not block.
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

// FastOffer is a fast channel and what LOGIN_RESPONSE says of it (realtime.md
// 6.2).
type FastOffer struct {
	Link    FastLink         // nil for none
	Channel counters.Channel // what Link is, for metrics
	Port    uint16           // fastPort, 1 to 65535 also where there is none
	Anchors []byte           // caCert, secured mode only
	Token   string           // connectToken, secured mode only
}

// Newcomer is a connection that wants to log in. Methods may be called from any
// goroutine and do not block.
type Newcomer interface {
	Link() Link
	// OpenFast sets up the fast channel of a peer.
	OpenFast(peer messages.PeerID) FastOffer
	// Bind makes the connection serve a: from now on its input goes to the game
	// session. False: the connection has ended already.
	Bind(a *Attachment) bool
	// Because says why the next Refuse is final; only for an id that is known.
	Because(why wire.Refusal)
	// Refuse answers the login with no and closes the connection. A client of the
	// extension is told that it may come again after so long; 0 is final.
	Refuse(after time.Duration)
	// Channel names the transport for metrics.
	Channel() counters.Channel
	// Gone reports whether the connection has ended.
	Gone() bool
	// Challenge asks the peer for a sign of life; Silence tells how long there was
	// none.
	Challenge()
	Silence() time.Duration
}
