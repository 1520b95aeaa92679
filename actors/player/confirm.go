package player

import (
	"time"

	"troupe/messages"
)

// plausible reports whether the player can have received up to n.
func (o *Outbox) plausible(n uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return n <= o.queue.sent
}

// confirmBeforeAttach confirms the messages that the player reports as received in its login.
func (o *Outbox) confirmBeforeAttach(n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n = min(n, o.queue.sent)
	o.confirmation.confirmed = max(o.confirmation.confirmed, n)
	o.queue.confirmUpTo(n)
}

// skip releases messages that were sent and not confirmed: a stock client gets each at most once (reconnect.stockAmbiguous = skip).
func (o *Outbox) skip() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.confirmUpTo(o.queue.sent)
}

// Acked handles an ack from the connection of an epoch; an older epoch's changes nothing. Ok is false above the
// highest number sent, or below an earlier ack. Any goroutine may call it; acks of one connection one at a time.
func (o *Outbox) Acked(e messages.Epoch, n uint64) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e != o.attachment.epoch || !o.attachment.state.serves() {
		return true
	}
	if !o.confirmation.acked(n, o.queue.sent) { // RL-6
		return false
	}
	o.queue.confirmUpTo(n)
	return true
}

// proven reports whether the player is proved to have this connection's LOGIN_RESPONSE, which ends its previous token.
func (o *Outbox) proven() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.confirmation.proved
}

// Mark returns the number for a ping that an epoch's connection sends now. ReachedAt: when an earlier
// ping is known to have reached the peer's system, or zero. HeardAt: the peer's last sign of life.
func (o *Outbox) Mark(e messages.Epoch, reachedAt, heardAt time.Time) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e != o.attachment.epoch {
		return 0
	}
	if o.confirmation.silent(reachedAt, heardAt, o.queue.unconfirmedOverHalf()) {
		o.queue.releaseTaken()
	}
	return o.confirmation.asked()
}

// Echoed handles the payload of a pong from an epoch's connection. One without a mark's number changes nothing, but a
// client that answers marks so is mute: until it does echo, a reconnect sends only messages that were never written.
func (o *Outbox) Echoed(e messages.Epoch, pong []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e != o.attachment.epoch || !o.attachment.state.serves() {
		return
	}
	switch n, means := o.confirmation.echoed(pong); means {
	case echoConfirms:
		o.queue.confirmUpTo(n)
	case echoNever: // messages that the connection has taken count as received
		o.queue.releaseTaken()
	}
}

// Receive classifies the number of a message on an epoch's connection (reliability.md 2.4). Late: an older connection's,
// not acknowledged by the current LOGIN_RESPONSE, so the player repeats it. Only the game session calls it, in order.
func (o *Outbox) Receive(e messages.Epoch, n uint64) Receipt {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.confirmation.receive(n, e == o.attachment.epoch) // RL-8
}

// Unacked returns how many messages from the player have not been acknowledged.
func (o *Outbox) Unacked() uint64 { return o.confirmation.unacked() }

// UnackedAlone is Unacked, or 0 if a waiting message or, without a connection, the next LOGIN_RESPONSE will carry the ack.
func (o *Outbox) UnackedAlone() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.attachment.state.serves() || o.queue.next < o.queue.n && o.queue.at(o.queue.n-1).n != 0 {
		return 0
	}
	return o.confirmation.unacked()
}

// AckNow makes the next drain carry an ack, in a packet of its own if no message waits.
func (o *Outbox) AckNow() Pushed {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.attachment.state.serves() || o.confirmation.how != ByAcks {
		return PushNothing
	}
	o.confirmation.ackNow = true
	return o.wantsFlush()
}
