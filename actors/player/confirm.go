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

// skip releases messages that were sent and not confirmed, so that a stock client gets each
// message at most once (reconnect.stockAmbiguous = skip).
func (o *Outbox) skip() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.confirmUpTo(o.queue.sent)
}

// Acked handles an ack from the connection of an epoch. Ok is false for an invalid ack:
// above the highest number ever sent, or below an earlier ack. An ack of an older
// epoch changes nothing. Any goroutine may call it; acks of one connection one at a time.
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

// proven reports whether the player has proved that it has the LOGIN_RESPONSE of the
// current connection. From then on its previous token is invalid.
func (o *Outbox) proven() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.confirmation.proved
}

// Mark returns the number for a ping that the connection of an epoch sends now. ReachedAt
// is when an earlier ping is known to have reached the peer's system, zero if none has.
// HeardAt is when the peer last gave a sign of life.
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

// Echoed handles the payload of a pong from the connection of an epoch. A pong that echoes
// no mark changes nothing. But a client that answers marks with other payloads counts as
// mute: until it does echo, a reconnect sends only messages that were never written.
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

// Receive classifies the number of a message that came on the connection of an epoch
// (reliability.md 2.4). Late is a message from an older connection: the LOGIN_RESPONSE of
// the current one did not acknowledge it, so the player sends it again. Only the
// game session calls it, in the order of arrival.
func (o *Outbox) Receive(e messages.Epoch, n uint64) Receipt {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.confirmation.receive(n, e == o.attachment.epoch) // RL-8
}

// Unacked returns how many messages from the player have not been acknowledged.
func (o *Outbox) Unacked() uint64 { return o.confirmation.unacked() }

// UnackedAlone is Unacked, but returns 0 if no ack of its own is needed: a waiting message
// will carry it, or no connection is attached and the next LOGIN_RESPONSE will.
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
