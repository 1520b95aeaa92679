package player

import (
	"sync/atomic"
	"time"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Handle is how the game session and groups reach one player: who it is and
// where its messages go. It lives as long as the player session, across
// connections and restarts of the player actor.
type Handle struct {
	// set once at the reservation
	ID       messages.PlayerSessionID
	PlayerID messages.PlayerID
	Data     string
	Created  time.Time
	Out      *Outbox

	// owned by the game session
	Peer   messages.PeerID // 0 before the gate; kept from acceptance on
	Groups []messages.GroupID

	count *counters.Set
	fast  atomic.Pointer[FastOffer]
	actor atomic.Pointer[stage.Ref]
}

// NewHandle returns the handle of a fresh reservation.
func NewHandle(id messages.PlayerSessionID, who messages.NewPlayer, created time.Time, b Budget, count *counters.Set) *Handle {
	h := &Handle{ID: id, PlayerID: who.PlayerID, Data: who.PlayerData, Created: created, count: count}
	h.Out = NewOutbox(b, count, func() { h.Tell(outboxFull{}) })
	return h
}

// Tell sends a control message to the player actor of the moment.
func (h *Handle) Tell(msg any) bool {
	ref := h.actor.Load()
	if ref == nil {
		return false
	}
	return ref.Tell(msg)
}

// SetActor names the actor that rules the player from now on.
func (h *Handle) SetActor(ref *stage.Ref) { h.actor.Store(ref) }

// Deliver hands one application message to the player: over the fast channel if
// it is meant for it, fits and the channel is up, else through the outbox. It
// keeps its own reference to f as long as it needs one. A message meant for the
// fast channel stays one that may be dropped, also where it goes by the outbox.
// To be called from an actor, whose batch flushes the outbox.
func (h *Handle) Deliver(c *stage.Context, f *wire.Frame, reliable bool) {
	var p Pushed
	if reliable {
		p = h.Out.Push(f)
	} else {
		fast := h.fast.Load()
		if fast != nil && len(f.Payload()) <= wire.FastPayloadMax && fast.Link.Ready() {
			if fast.Link.Send(f) {
				h.count.Delivered.Add(fast.Channel, 1)
			}
			return
		}
		p = h.Out.PushFast(f)
	}
	switch p {
	case PushDirty:
		c.Dirty(h.Out)
	case PushFlushNow:
		h.Out.Flush()
	}
}

// Give is Deliver for a packet of the host's own, always reliable; it consumes
// the caller's reference.
func (h *Handle) Give(c *stage.Context, f *wire.Frame) {
	h.Deliver(c, f, true)
	f.Release()
}

// DropHeld forgets what was queued for a login that was not accepted (D-121). To
// be called by the game session, which then queues nothing more.
func (h *Handle) DropHeld() { h.Out.dropHeld() }

// Close lets go of what the player was still to get. To be called once the
// player's actor is gone for good without having ended the player session.
func (h *Handle) Close() {
	h.Out.close()
	h.dropFast()
}

// FastReady reports whether the player's fast channel is confirmed.
func (h *Handle) FastReady() bool {
	fast := h.fast.Load()
	return fast != nil && fast.Link.Ready()
}

func (h *Handle) setFast(offer FastOffer) {
	if offer.Link == nil {
		h.dropFast()
		return
	}
	if old := h.fast.Swap(&offer); old != nil {
		old.Link.Close()
	}
}

func (h *Handle) dropFast() {
	if old := h.fast.Swap(nil); old != nil {
		old.Link.Close()
	}
}

// Attachment is one connection's claim on a player, numbered by its epoch. The
// connection's reader sends the player's input to Session.
type Attachment struct {
	Player  *Handle
	Epoch   messages.Epoch
	Peer    messages.PeerID
	Session *stage.Ref // the game session
	// Numbered says that the client speaks the extension: every reliable packet has
	// a number.
	Numbered bool
	// PingInterval is what the game's configuration asks for.
	PingInterval time.Duration
	// Inflow bounds what the players of the game session send together; nil is no bound.
	Inflow *Inflow
}
