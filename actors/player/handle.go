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

// Handle is the address of a player. It stays the same until the player session ends, across reconnects and restarts of
// the player actor.
type Handle struct {
	// These fields are set once, when the player session is reserved.
	ID       messages.PlayerSessionID
	PlayerID messages.PlayerID
	Data     string
	Created  time.Time
	Out      *Outbox

	// 0 before a login asks the gate; constant once the player is accepted
	Peer   messages.PeerID // 0 until the gate accepts the player; constant afterwards
	Groups []messages.GroupID

	fast     atomic.Pointer[fastChannel]
	fastSent atomic.Uint64 // number of messages that fast channels have taken
	actor    atomic.Pointer[stage.Ref]
	left     atomic.Uint64          // the epoch in which the player left; its Ended message may still be queued
	removed  atomic.Pointer[string] // the reason why the game or an operator removes the player; nil if the player was not removed
}

// NewHandle returns the handle of a new reservation. It keeps b. Several players may share one Budget.
func NewHandle(id messages.PlayerSessionID, who messages.NewPlayer, created time.Time, b *Budget, count *counters.Set) *Handle {
	h := &Handle{ID: id, PlayerID: who.PlayerID, Data: who.PlayerData, Created: created}
	h.Out = newOutbox(b, count, func() { h.Tell(outboxFull{}) })
	return h
}

// RemovedBecause returns the reason for which the game or an operator removed the player. It is empty if the player was
// not removed or no reason was given. The reason is set before the connection is closed. Any goroutine may call
// RemovedBecause.
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

// Leaves records that the player has left in epoch e. The Ended message follows after everything that the player sent
// before. Any goroutine may call Leaves.
func (h *Handle) Leaves(e messages.Epoch) { h.left.Store(uint64(e)) }

// SetActor sets the player actor. It is called again after each restart of the actor.
func (h *Handle) SetActor(ref *stage.Ref) { h.actor.Store(ref) }

// Deliver sends an application message to the player. A reliable message goes through the outbox. An unreliable message
// goes over the fast channel if it fits and the channel is ready; otherwise it goes through the outbox, which may drop
// it. Deliver takes its own reference to f. Only actors may call it, because the outbox is flushed at the end of the
// actor's batch.
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

// Give delivers a packet of the host reliably. It consumes the caller's reference to f.
func (h *Handle) Give(c *stage.Context, f *wire.Frame) {
	h.Deliver(c, f, true)
	f.Release()
}

// Close discards the player's messages. It is for a player whose actor has stopped for good before the player session
// ended.
func (h *Handle) Close() {
	h.Out.close()
	h.dropFast()
}

// fastChannel is the part of a FastOffer that is still needed after LOGIN_RESPONSE.
type fastChannel struct {
	link    FastLink
	channel counters.Channel
}

func (h *Handle) dropFast() {
	if old := h.fast.Swap(nil); old != nil {
		old.link.Close()
	}
}

// Attachment binds a connection to a player. Its epoch numbers the player's connections. The connection's reader sends
// the player's input to Session.
type Attachment struct {
	Player  *Handle
	Epoch   messages.Epoch
	Peer    messages.PeerID
	Session *stage.Ref // the game session
	// Numbered says that the client uses the protocol extension: every reliable packet has a number.
	Numbered bool
	// PingInterval comes from the game's configuration.
	PingInterval time.Duration
	// Inflow limits the total input of all players of the game session. Nil means no limit.
	Inflow *Inflow
}

// Inspect adds the state of the player's queue and connection to p. Any goroutine may call it.
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

// inspect fills in p and returns the attached connection. It returns nil if there is none.
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
