package player

import (
	"time"

	"troupe/messages"
)

// plausible reports whether message n was sent, so that the player can have received it.
func (o *Outbox) plausible(n uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return n <= o.queue.sent
}

// confirmBeforeAttach confirms all messages up to n, the number that the player reports in its login.
func (o *Outbox) confirmBeforeAttach(n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n = min(n, o.queue.sent)
	o.confirmation.confirmed = max(o.confirmation.confirmed, n)
	o.queue.confirmUpTo(n)
}

// skip releases all messages that were sent but not confirmed. A stock client then receives each message at most once
// (reconnect.stockAmbiguous = skip).
func (o *Outbox) skip() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.confirmUpTo(o.queue.sent)
}

// Acked handles an ack from the connection of epoch e. Acks of older epochs are ignored. Acked returns false if n is
// higher than the highest number sent or lower than an earlier ack. Any goroutine may call it, but the acks of one
// connection must come one at a time.
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

// proven reports whether the player has provably received this connection's LOGIN_RESPONSE. From then on its previous
// token is invalid.
func (o *Outbox) proven() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.confirmation.proved
}

// Mark returns the number that a ping sent now by epoch e's connection carries. reachedAt is the latest time at which
// an earlier ping is known to have reached the peer's system; it is zero if none has. heardAt is the time of the peer's
// last sign of life.
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

// Echoed handles the payload of a pong from epoch e's connection. A payload that is not the number of a mark confirms
// nothing. A client that repeatedly sends such pongs is mute: until it echoes a mark, a reconnect resends only messages
// that were never written.
func (o *Outbox) Echoed(e messages.Epoch, pong []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e != o.attachment.epoch || !o.attachment.state.serves() {
		return
	}
	switch n, means := o.confirmation.echoed(pong); means {
	case echoConfirms:
		o.queue.confirmUpTo(n)
	case echoNever: // it will never confirm them, so messages that the connection has taken count as received
		o.queue.releaseTaken()
	}
}

// Receive classifies the number of a message from epoch e's connection (reliability.md 2.4). A message is Late if an
// older connection delivered it and the current LOGIN_RESPONSE did not acknowledge it; the player will resend it. Only
// the game session calls Receive, in the order of arrival.
func (o *Outbox) Receive(e messages.Epoch, n uint64) Receipt {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.confirmation.receive(n, e == o.attachment.epoch) // RL-8
}

// Unacked returns the number of messages from the player that the host has not yet acknowledged.
func (o *Outbox) Unacked() uint64 { return o.confirmation.unacked() }

// UnackedAlone is like Unacked, but returns 0 if the ack needs no packet of its own: a queued message will carry it or,
// without a connection, the next LOGIN_RESPONSE.
func (o *Outbox) UnackedAlone() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.attachment.state.serves() || o.queue.next < o.queue.n && o.queue.at(o.queue.n-1).n != 0 {
		return 0
	}
	return o.confirmation.unacked()
}

// AckNow makes the next drain send an ack. The ack gets its own packet if no queued message can carry it.
func (o *Outbox) AckNow() Pushed {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.attachment.state.serves() || o.confirmation.how != ByAcks {
		return PushNothing
	}
	o.confirmation.ackNow = true
	return o.wantsFlush()
}
