package player

import (
	"time"

	"troupe/messages"
)

// plausible reports whether the player can have received up to n (RL-6).
func (o *Outbox) plausible(n uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return n <= o.queue.sent
}

// confirmBeforeAttach confirms, before an attach, what the player says it has received.
func (o *Outbox) confirmBeforeAttach(n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n = min(n, o.queue.sent)
	o.confirmation.confirmed = max(o.confirmation.confirmed, n)
	o.queue.confirmUpTo(n)
}

// skip gives up what may have arrived unconfirmed (reconnect.stockAmbiguous =
// skip): at most once for stock clients.
func (o *Outbox) skip() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.confirmUpTo(o.queue.sent)
}

// Acked takes an ack from the connection of an epoch. Ok is false for one that
// cannot be: above what this connection and those before it were given, or below
// an earlier one (RL-6). An older epoch's changes nothing. Any goroutine may call
// it; acks of one connection one at a time.
func (o *Outbox) Acked(e messages.Epoch, n uint64) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e != o.attachment.epoch || !o.attachment.state.serves() {
		return true
	}
	if !o.confirmation.acked(n, o.queue.sent) {
		return false
	}
	o.queue.confirmUpTo(n)
	return true
}

// proven reports whether the player has shown that it has the LOGIN_RESPONSE of
// the connection of the moment, which is the end of its older token.
func (o *Outbox) proven() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.confirmation.proved
}

// Mark returns the number that a ping sent now by the connection of an epoch is
// to carry. ReachedAt is since when the peer's system is known to have an earlier one,
// zero if it is not, and heardAt when the peer last gave a sign of life.
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

// Echoed takes the payload of a pong from the connection of an epoch. What is no
// echo of a mark changes nothing, except that a client which answers marks with
// something else will not confirm anything: from then on it gets again only what
// was never written, until it does echo.
func (o *Outbox) Echoed(e messages.Epoch, pong []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e != o.attachment.epoch || !o.attachment.state.serves() {
		return
	}
	switch n, means := o.confirmation.echoed(pong); means {
	case echoConfirms:
		o.queue.confirmUpTo(n)
	case echoNever: // what it has taken counts as received
		o.queue.releaseTaken()
	}
}

// Receive takes the number of a message that came on the connection of an epoch:
// Next is to be handled, Duplicate was before, Violation cannot be (reliability.md
// 2.4). Late is what a connection before the current one brings: the current one
// was told at its LOGIN_RESPONSE that it is missing, and brings it again (RL-8). To be
// called by the game session alone, in the order of arrival.
func (o *Outbox) Receive(e messages.Epoch, n uint64) Receipt {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.confirmation.receive(n, e == o.attachment.epoch)
}

// Unacked returns how many messages of the player it does not know to have
// arrived.
func (o *Outbox) Unacked() uint64 { return o.confirmation.unacked() }

// UnackedAlone is Unacked, but 0 where an ack is on its way: a message waits that
// will carry it, or nobody is attached, and the next LOGIN_RESPONSE says it.
func (o *Outbox) UnackedAlone() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.attachment.state.serves() || o.queue.next < o.queue.n && o.queue.at(o.queue.n-1).n != 0 {
		return 0
	}
	return o.confirmation.unacked()
}

// AckNow has the next drain carry an ack, alone if nothing else is there.
func (o *Outbox) AckNow() Pushed {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.attachment.state.serves() || o.confirmation.how != ByAcks {
		return PushNothing
	}
	o.confirmation.ackNow = true
	return o.wantsFlush()
}
