package player

import (
	"strconv"
	"sync/atomic"
	"time"

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

// confirmation is how far the two sides of a player session know that the other has
// received what was sent. It decides what a client's acks, numbers and echoes mean; it
// holds no messages and takes no lock: the Outbox does.
type confirmation struct {
	// received is the highest number that the game session has of the player; it
	// alone writes it. ackTold is what of that the player knows by ack.
	received, ackTold atomic.Uint64

	client    clientEcho // of the player's client, across connections
	confirmed uint64     // the highest number that the player has acknowledged

	// of the newest connection
	how      Confirmation
	position uint64 // the last number it has taken, or what was confirmed before
	proved   bool   // the player has shown that it has this connection's LOGIN_RESPONSE: it acked, or sent a number
	ack      uint64 // the highest of its acks
	ackNow   bool   // an ack goes out with the next drain, by itself if it must
	marks    marking
}

// clientEcho is what is known of a client: whether it echoes pings.
type clientEcho uint8

const (
	clientUnknown clientEcho = iota
	clientEchoes
	clientMute // it does not
)

// marking is what is known of the marks of one connection.
type marking struct {
	state    markState
	mark     uint64 // the highest it was asked for
	bytes    int    // that went out since
	messages int    // likewise
	strange  int    // pongs that echo nothing
	unpinged int    // bytes that it took before the first ping
}

// markState says whether a connection is asked for echoes.
type markState uint8

const (
	markless markState = iota // it cannot be
	unmarked                  // not yet
	marked
)

// begin starts a connection's confirmations, base being the number before the first
// that it is given.
func (c *confirmation) begin(how Confirmation, base uint64) {
	c.marks = marking{mark: base}
	if how == ByMarks {
		c.marks.state = unmarked
		if c.client == clientMute {
			how = ByWriting
		}
	}
	c.how, c.position = how, base
	c.proved, c.ack, c.ackNow = false, base, false
	c.ackTold.Store(c.received.Load()) // LOGIN_RESPONSE says it
}

// acked takes an ack of a player that was given messages up to sent. Ok is false for one
// that cannot be: above that, or below an earlier one.
func (c *confirmation) acked(n, sent uint64) (ok bool) {
	if c.how != ByAcks || n > sent || n < c.ack {
		return false
	}
	c.proved, c.ack, c.confirmed = true, n, max(c.confirmed, n)
	return true
}

// gave notes that the connection has taken a message. Due says that a mark is.
func (c *confirmation) gave(n uint64, size int, b *Budget) (due bool) {
	c.position = n
	m := &c.marks
	if m.state == unmarked {
		m.unpinged += size
	}
	if c.how != ByMarks {
		return false
	}
	m.bytes, m.messages = m.bytes+size, m.messages+1
	return m.bytes >= min(markBytes, b.BytesMax/markShare) || m.messages >= min(markCount, b.MessagesMax/markShare)
}

// asked sets a mark: a ping with the number of the last message goes out.
func (c *confirmation) asked() uint64 {
	m := &c.marks
	m.mark, m.bytes, m.messages = c.position, 0, 0
	if m.state == unmarked {
		m.state = marked
	}
	return m.mark
}

// refused notes that the connection cannot be asked: nothing will ever confirm what it
// takes.
func (c *confirmation) refused() { c.marks.state, c.how = markless, ByWriting }

// silent reports whether a client that has given other signs of life has had the time
// for its first echo, and counts it as mute then. ReachedAt and heardAt are as in
// Outbox.Mark. Where the budget runs out for want of echoes, which is full, it is not
// given the time of a slow path.
func (c *confirmation) silent(reachedAt, heardAt time.Time, full bool) bool {
	if c.how != ByMarks || c.client == clientEchoes || reachedAt.IsZero() {
		return false
	}
	patience := muteAfter
	if !full {
		patience += time.Duration(c.marks.unpinged) * time.Second / slowestPath
	}
	if heardAt.Sub(reachedAt) <= patience {
		return false
	}
	c.client, c.how = clientMute, ByWriting
	return true
}

// echo is what a pong means.
type echo uint8

const (
	echoNothing  echo = iota // it changes nothing
	echoConfirms             // up to its number
	echoNever                // this client will not confirm anything
)

// echoed takes the payload of a pong.
func (c *confirmation) echoed(pong []byte) (n uint64, means echo) {
	if c.marks.state != marked {
		return 0, echoNothing
	}
	n, err := strconv.ParseUint(string(pong), 10, 64)
	switch {
	case err == nil && n <= c.marks.mark:
		c.client, c.how = clientEchoes, ByMarks
		return n, echoConfirms
	case c.client == clientUnknown:
		if c.marks.strange++; c.marks.strange >= strangeMax {
			c.client, c.how = clientMute, ByWriting
			return 0, echoNever
		}
	}
	return 0, echoNothing
}

// receive says what the number of a message of the player is. Current says that it came
// on the newest connection.
func (c *confirmation) receive(n uint64, current bool) Receipt {
	if current {
		c.proved = true
	}
	switch last := c.received.Load(); {
	case n <= last:
		return Duplicate
	case !current:
		return Late
	case n > last+1:
		return Violation
	}
	c.received.Store(n)
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

// unacked is how many messages of the player it does not know to have arrived.
func (c *confirmation) unacked() uint64 { return c.received.Load() - c.ackTold.Load() }

// takeAck returns what the next packet is to acknowledge, 0 for nothing new.
func (c *confirmation) takeAck() uint64 {
	n := c.received.Load()
	if n == c.ackTold.Load() {
		return 0
	}
	c.ackTold.Store(n)
	c.ackNow = false
	return n
}

// giveAck sends an ack that found nothing to ride on.
func (c *confirmation) giveAck(sink wire.Sink) {
	c.ackNow = false
	if n := c.takeAck(); n != 0 {
		f := wire.NewAck()
		sink.AppendNumbered(f, 0, n)
		f.Release()
	}
}
