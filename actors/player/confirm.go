package player

import (
	"strconv"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// Confirmation is how the host learns what a connection's player has received.
type Confirmation uint8

// Confirmations.
const (
	// ByWriting: not at all. What a connection has taken counts as received, so a
	// reconnect may lose it.
	ByWriting Confirmation = iota + 1
	// ByMarks: the client echoes ping payloads, as every WebSocket library does
	// (reliability.md 2.5). For stock clients.
	ByMarks
	// ByAcks: the client speaks the extension (reliability.md 2.4).
	ByAcks
)

const (
	// markBytes and markCount are how much goes to a stock client between two marks at
	// most, and markShare the same as a part of the budget.
	markBytes = 64 << 10
	markCount = 512
	markShare = 8
	// strangeMax is how many pongs may come that echo nothing of ours, although a
	// mark is out, before the client counts as one that does not echo.
	strangeMax = 2
	// muteAfter is how long after it has the first ping a client must have given other
	// signs of life, and no echo, before the same is believed of one that answers nothing
	// at all. Its system may have the ping where the client does not yet: slowestPath, in
	// bytes per second, is what a path brings at least of what was sent before.
	muteAfter   = 10 * time.Second
	slowestPath = 1 << 10
)

// confirming is what an Outbox knows of confirmations.
type confirming struct {
	epoch     messages.Epoch
	confirm   Confirmation
	confirmed uint64 // the highest number that the player has acknowledged
	position  uint64 // the last number this connection has taken, or what was confirmed before
	proved    bool   // the player has shown that it has this connection's LOGIN_RESPONSE: it acked, or sent a number
	ack       uint64 // the highest of its acks
	ackNow    bool   // an ack goes out with the next drain, by itself if it must

	// of marks
	marks        bool // this connection can be asked for echoes, and asked: it was
	asked        bool
	mark         uint64 // the highest it was asked for
	markDue      int    // bytes since
	markDueCount int    // messages since
	echoes, mute bool   // the player's client is known to echo, or not to
	strange      int    // pongs of this connection that echo nothing
	ahead        int    // bytes that this connection took before the first ping
	pinged       bool
}

// begin starts a connection's confirmations.
func (o *Outbox) begin(e messages.Epoch, how Confirmation) {
	if o.marks = how == ByMarks; o.marks && o.mute {
		how = ByWriting
	}
	o.epoch, o.confirm, o.position = e, how, o.queue.base
	o.proved, o.ack, o.ackNow = false, o.queue.base, false
	o.mark, o.markDue, o.markDueCount, o.asked = o.queue.base, 0, 0, false
	o.strange, o.ahead, o.pinged = 0, 0, false
	o.ackTold.Store(o.received.Load()) // LOGIN_RESPONSE says it
}

// plausible reports whether the player can have received up to n (RL-6).
func (o *Outbox) plausible(n uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return n <= o.queue.sent
}

// settle confirms, before an attach, what the player says it has received.
func (o *Outbox) settle(n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n = min(n, o.queue.sent)
	o.confirmed = max(o.confirmed, n)
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
	if e != o.epoch || o.mode != attached {
		return true
	}
	if o.confirm != ByAcks || n > o.queue.sent || n < o.ack {
		return false
	}
	o.proved, o.ack = true, n
	o.confirmed = max(o.confirmed, n)
	o.queue.confirmUpTo(n)
	return true
}

// proven reports whether the player has shown that it has the LOGIN_RESPONSE of
// the connection of the moment, which is the end of its older token.
func (o *Outbox) proven() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.proved
}

// unmarked counts what went out since the last mark, and sets one when it is
// due.
func (o *Outbox) unmarked(sink wire.Sink, size int) {
	o.markDue += size
	o.markDueCount++
	if o.markDue < min(markBytes, o.queue.budget.BytesMax/markShare) && o.markDueCount < min(markCount, o.queue.budget.MessagesMax/markShare) {
		return
	}
	if !sink.Mark(o.position) {
		o.marks = false // nothing will ever confirm it
		o.confirmByWriting()
		return
	}
	o.marked()
}

func (o *Outbox) marked() {
	o.pinged = true
	o.mark, o.markDue, o.markDueCount, o.asked = o.position, 0, 0, true
}

// Mark returns the number that a ping sent now by the connection of an epoch is
// to carry. ReachedAt is since when the peer's system is known to have an earlier one,
// zero if it is not, and heardAt when the peer last gave a sign of life.
func (o *Outbox) Mark(e messages.Epoch, reachedAt, heardAt time.Time) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e != o.epoch {
		return 0
	}
	if o.confirm == ByMarks && !o.echoes && !reachedAt.IsZero() && heardAt.Sub(reachedAt) > o.muteAfter() {
		o.mute = true
		o.confirmByWriting()
	}
	o.marked()
	return o.mark
}

// muteAfter is how long the player's client has for its first echo. Where the budget runs
// out for want of echoes it is not given the time of a slow path.
func (o *Outbox) muteAfter() time.Duration {
	if o.queue.bytes-o.queue.waiting > o.queue.budget.BytesMax/2 || o.queue.next > o.queue.budget.MessagesMax/2 {
		return muteAfter
	}
	return muteAfter + time.Duration(o.ahead)*time.Second/slowestPath
}

// Echoed takes the payload of a pong from the connection of an epoch. What is no
// echo of a mark changes nothing, except that a client which answers marks with
// something else will not confirm anything: from then on it gets again only what
// was never written, until it does echo.
func (o *Outbox) Echoed(e messages.Epoch, pong []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e != o.epoch || o.mode != attached || !o.marks || !o.asked {
		return
	}
	n, err := strconv.ParseUint(string(pong), 10, 64)
	switch {
	case err == nil && n <= o.mark:
		o.echoes, o.mute, o.confirm = true, false, ByMarks
		o.queue.confirmUpTo(n)
	case !o.echoes && !o.mute:
		if o.strange++; o.strange >= strangeMax {
			o.mute = true
			o.confirmByWriting()
		}
	}
}

// confirmByWriting gives up on confirmations for this connection.
func (o *Outbox) confirmByWriting() {
	o.confirm = ByWriting
	o.queue.releaseTaken()
}

// Receive takes the number of a message that came on the connection of an epoch:
// Next is to be handled, Duplicate was before, Violation cannot be (reliability.md
// 2.4). Late is what a connection before the current one brings: the current one
// was told at its LOGIN_RESPONSE that it is missing, and brings it again (RL-8). To be
// called by the game session alone, in the order of arrival.
func (o *Outbox) Receive(e messages.Epoch, n uint64) Receipt {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e == o.epoch {
		o.proved = true
	}
	switch last := o.received.Load(); {
	case n <= last:
		return Duplicate
	case e != o.epoch:
		return Late
	case n > last+1:
		return Violation
	}
	o.received.Store(n)
	return Next
}

// Receipt is what a number says about its message.
type Receipt uint8

// Receipts.
const (
	Next Receipt = iota + 1
	Duplicate
	Late
	Violation
)

// Unacked returns how many messages of the player it does not know to have
// arrived.
func (o *Outbox) Unacked() uint64 { return o.received.Load() - o.ackTold.Load() }

// UnackedAlone is Unacked, but 0 where an ack is on its way: a message waits that
// will carry it, or nobody is attached, and the next LOGIN_RESPONSE says it.
func (o *Outbox) UnackedAlone() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mode != attached || o.queue.next < o.queue.n && o.queue.at(o.queue.n-1).n != 0 {
		return 0
	}
	return o.Unacked()
}

// AckNow has the next drain carry an ack, alone if nothing else is there.
func (o *Outbox) AckNow() Pushed {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mode != attached || o.confirm != ByAcks {
		return PushNothing
	}
	o.ackNow = true
	return o.wantsFlush()
}

// takeAck returns what the next packet is to acknowledge, 0 for nothing new.
func (o *Outbox) takeAck() uint64 {
	n := o.received.Load()
	if n == o.ackTold.Load() {
		return 0
	}
	o.ackTold.Store(n)
	o.ackNow = false
	return n
}

// giveAck sends an ack that found nothing to ride on.
func (o *Outbox) giveAck(sink wire.Sink) {
	o.ackNow = false
	if n := o.takeAck(); n != 0 {
		f := wire.NewAck()
		sink.AppendNumbered(f, 0, n)
		f.Release()
	}
}
