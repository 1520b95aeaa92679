package player

import (
	"net/netip"
	"sync/atomic"
	"time"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Handle is a player's address as long as the player session lives, across connections and restarts of the player actor.
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

	fast     atomic.Pointer[fastChannel]
	fastSent atomic.Uint64 // messages that fast channels took
	actor    atomic.Pointer[stage.Ref]
	left     atomic.Uint64          // the epoch in which the player left; its Ended may still be on the way
	removed  atomic.Pointer[string] // why the game or an operator removes the player; nil if neither does
}

// NewHandle returns the handle of a fresh reservation. It keeps b, which several players may share.
func NewHandle(id messages.PlayerSessionID, who messages.NewPlayer, created time.Time, b *Budget, count *counters.Set) *Handle {
	h := &Handle{ID: id, PlayerID: who.PlayerID, Data: who.PlayerData, Created: created}
	h.Out = newOutbox(b, count, func() { h.Tell(outboxFull{}) })
	return h
}

// RemovedBecause returns the reason with which the game or an operator has removed the player; empty if neither has,
// or gave none. It may be called from any goroutine, and is known before the connection is closed for it.
func (h *Handle) RemovedBecause() string {
	if why := h.removed.Load(); why != nil {
		return *why
	}
	return ""
}

// Tell sends a control message to the current player actor.
func (h *Handle) Tell(msg any) bool {
	ref := h.actor.Load()
	if ref == nil {
		return false
	}
	return ref.Tell(msg)
}

// Leaves says that the player has left in an epoch. Ended follows, behind what the player sent before. Any goroutine may call it.
func (h *Handle) Leaves(e messages.Epoch) { h.left.Store(uint64(e)) }

// SetActor sets the player actor: a new one after a restart.
func (h *Handle) SetActor(ref *stage.Ref) { h.actor.Store(ref) }

// Deliver sends an application message to the player. An unreliable one goes over the fast channel if it fits
// and the channel is ready, else through the outbox, which may still drop it; a reliable one through the outbox.
// Deliver takes its own reference to f. For actors only: the end of the actor's batch flushes the outbox.
func (h *Handle) Deliver(c *stage.Context, f *wire.Frame, reliable bool) {
	var p Pushed
	if reliable {
		p = h.Out.Push(f)
	} else {
		fast := h.fast.Load()
		if fast != nil && len(f.Payload()) <= wire.FastPayloadMax && fast.link.Ready() {
			if fast.link.Send(f) {
				h.Out.queue.count.Delivered.Add(fast.channel, 1)
				h.fastSent.Add(1)
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

// Give delivers a packet that the host made: reliably, and consuming the caller's reference.
func (h *Handle) Give(c *stage.Context, f *wire.Frame) {
	h.Deliver(c, f, true)
	f.Release()
}

// Close discards the messages of a player whose actor has ended for good without ending the player session.
func (h *Handle) Close() {
	h.Out.close()
	h.dropFast()
}

// fastChannel is the part of a FastOffer that is needed after LOGIN_RESPONSE.
type fastChannel struct {
	link    FastLink
	channel counters.Channel
}

func (h *Handle) dropFast() {
	if old := h.fast.Swap(nil); old != nil {
		old.link.Close()
	}
}

// Attachment is one connection's claim on a player, numbered by its epoch. Its reader sends the player's input to Session.
type Attachment struct {
	Player  *Handle
	Epoch   messages.Epoch
	Peer    messages.PeerID
	Session *stage.Ref // the game session
	// Numbered says that the client speaks the extension: every reliable packet has a number.
	Numbered bool
	// PingInterval comes from the game's configuration.
	PingInterval time.Duration
	// Inflow bounds the input of all players of the game session together; nil is no bound.
	Inflow *Inflow
}

// Inspect adds to p what the player's queue and its connection say of themselves. Any goroutine may call it.
func (h *Handle) Inspect(p *messages.PlayerState) {
	link := h.Out.inspect(p)
	if c, ok := link.(interface{ RemoteAddr() netip.AddrPort }); ok {
		p.Address = c.RemoteAddr()
	}
	if c, ok := link.(interface{ RoundTrip() time.Duration }); ok {
		p.RTT = c.RoundTrip()
	}
	fast := h.fast.Load()
	p.Fast = fast != nil && fast.link.Ready()
	p.Sent += h.fastSent.Load()
}

// inspect returns the attached connection, nil if there is none.
func (o *Outbox) inspect(p *messages.PlayerState) Link {
	o.mu.Lock()
	defer o.mu.Unlock()
	q, a := &o.queue, &o.attachment
	p.Attached = a.state == attached
	p.Waiting, p.Unconfirmed, p.QueueBytes, p.Slow = q.n-q.next, q.next, q.bytes, q.slow
	p.Sent = q.last + q.unnumbered
	if a.channel != 0 {
		p.Transport = a.channel.String()
	}
	if !p.Attached {
		return nil
	}
	return a.link
}
