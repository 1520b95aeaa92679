package connection

import (
	"sync/atomic"
	"time"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Link is what is needed of a transport's connection. Methods may be called from
// any goroutine and do not block.
type Link interface {
	player.Link
	Send(f *wire.Frame)
	Ping(payload []byte)
	LoggedIn()
}

// Edge is what the layer that accepted a connection does for it. Methods may be
// called from any goroutine and do not block.
type Edge interface {
	// OpenFast sets up the fast channel for the peer that the connection serves.
	OpenFast(peer messages.PeerID) player.FastOffer
	// Refused tells that the connection's LOGIN is answered with no.
	Refused()
}

// Handle is one connection. It implements player.Newcomer.
type Handle struct {
	ref     *stage.Ref
	link    Link
	edge    Edge
	count   *counters.Set
	opened  time.Time
	alive   atomic.Int64 // nanoseconds after opened
	busy    atomic.Bool  // the reader is in the host's own hands
	bound   atomic.Pointer[player.Attachment]
	channel counters.Channel
}

// ended marks a Handle whose connection is gone.
var ended = new(player.Attachment)

// NewHandle makes the handle of a fresh connection. The actor behind it is
// spawned by the Supervisor.
func NewHandle(s *stage.Stage, link Link, channel counters.Channel, edge Edge, count *counters.Set) *Handle {
	return &Handle{ref: s.NewRef(counters.ActorConnection, stage.LaneLimits{}), link: link, channel: channel,
		edge: edge, count: count, opened: time.Now()}
}

// Attachment returns whom the connection serves, nil before the login is
// accepted and after the end.
func (h *Handle) Attachment() *player.Attachment {
	if a := h.bound.Load(); a != ended {
		return a
	}
	return nil
}

// Alive notes a sign of life.
func (h *Handle) Alive() { h.alive.Store(int64(time.Since(h.opened))) }

// Busy tells that the connection's reader is held up by the host, from now until
// it is told otherwise: the peer's signs of life wait unread, so it does not
// count as silent (reliability.md 2.7).
func (h *Handle) Busy(busy bool) {
	h.busy.Store(busy)
	if !busy {
		h.Alive()
	}
}

func (h *Handle) silence() time.Duration {
	if h.busy.Load() {
		return 0
	}
	return time.Since(h.opened) - time.Duration(h.alive.Load())
}

// Login passes on a LOGIN that was read.
func (h *Handle) Login(l *player.Login) { h.ref.Tell(loginRead{l}) }

// Ended notes that the transport's connection is gone, after all that was read
// from it was posted. Clean is a leave.
func (h *Handle) Ended(clean bool, reason string) {
	if a := h.bound.Swap(ended); a != nil && a != ended {
		a.Session.TellInOrder(player.Ended{Player: a.Player, Epoch: a.Epoch, Clean: clean, Reason: reason})
		a.Player.Out.Abandon(h.link)
	}
	h.ref.Tell(gone{})
}

// Link implements player.Newcomer.
func (h *Handle) Link() player.Link { return h.link }

// Channel implements player.Newcomer.
func (h *Handle) Channel() counters.Channel { return h.channel }

// OpenFast implements player.Newcomer.
func (h *Handle) OpenFast(peer messages.PeerID) player.FastOffer {
	return h.edge.OpenFast(peer)
}

// Bind implements player.Newcomer.
func (h *Handle) Bind(a *player.Attachment) bool {
	if !h.bound.CompareAndSwap(nil, a) {
		return false
	}
	h.link.LoggedIn()
	h.ref.Tell(attached{a})
	return true
}

// Refuse implements player.Newcomer: LOGIN_RESPONSE with false, then a normal
// close (D5).
func (h *Handle) Refuse() {
	h.count.Logins.Add(counters.LoginRefused, 1)
	h.edge.Refused()
	h.link.Send(wire.NewLoginResult(&wire.LoginResult{}))
	h.link.Close(messages.CloseNormal)
}
