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
	// ByWriting: the host does not learn it. A message counts as received once a connection has it: a reconnect may lose some.
	ByWriting Confirmation = iota + 1
	// ByMarks: a stock client echoes ping payloads, as every WebSocket library does (reliability.md 2.5).
	ByMarks
	// ByAcks: the client speaks the extension (reliability.md 2.4).
	ByAcks
)

const (
	// markBytes and markCount are the most that a stock client gets between two marks, or 1/markShare of the budget: it is kept until
	// the echo. With 192 messages a queue's ring has 256 places, 4 KiB; a mark and its echo cost less than a hundredth of the messages.
	markBytes = 64 << 10
	markCount = 192
	markShare = 8
	// foreignPongsMax is after how many pongs without a mark's number, while a mark is out, a client is mute.
	foreignPongsMax = 2
	// muteAfter is how long after the first ping's arrival, by its other signs of life, a client that never answers pings is mute:
	// the ping may be in its system only. slowestPath, in bytes per second, bounds the time that bytes before the ping take.
	muteAfter   = 10 * time.Second
	slowestPath = 1 << 10
)

// confirmation is what each side of a player session knows to have reached the other:
// acks, numbers, echoes, but no messages. The Outbox locks it.
type confirmation struct {
	// received is the highest number from the player, written by the game session; ackTold the highest that was acknowledged.
	received, ackTold atomic.Uint64

	confirmed uint64     // the highest number that the player has acknowledged
	client    clientEcho // of the player's client, across connections

	// of the newest connection
	how      Confirmation
	proved   bool   // the player has this connection's LOGIN_RESPONSE: it has sent an ack or a number since
	ackNow   bool   // the next drain carries an ack, in a packet of its own if necessary
	position uint64 // the last number it has taken, or the last number before it
	ack      uint64 // the highest of its acks
	marks    marking
}

// clientEcho says whether a client is known to echo pings.
type clientEcho uint8

const (
	clientUnknown clientEcho = iota
	clientEchoes
	clientMute // it does not echo
)

// marking is the state of one connection's marks: pings with a message number as payload.
type marking struct {
	state    markState
	mark     uint64 // the highest mark sent
	bytes    int    // sent since that mark
	messages int    // sent since that mark
	foreign  int    // pongs that echo no mark
	unpinged int    // bytes sent before the first ping
}

// markState says whether marks are sent on a connection.
type markState uint8

const (
	markless markState = iota // the connection cannot send marks
	unmarked                  // no mark has been sent yet
	marked
)

// begin starts the confirmation of a new connection, whose first message has the number after base.
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
	c.ackTold.Store(c.received.Load()) // LOGIN_RESPONSE carries it
}

// acked handles an ack of a player who was sent messages up to sent. Ok is false above sent, or below an earlier ack.
func (c *confirmation) acked(n, sent uint64) (ok bool) {
	if c.how != ByAcks || n > sent || n < c.ack {
		return false
	}
	c.proved, c.ack, c.confirmed = true, n, max(c.confirmed, n)
	return true
}

// gave notes that the connection has taken a message. Due says that a mark is due.
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

// asked notes that a mark is sent: a ping with the number of the last message.
func (c *confirmation) asked() uint64 {
	m := &c.marks
	m.mark, m.bytes, m.messages = c.position, 0, 0
	if m.state == unmarked {
		m.state = marked
	}
	return m.mark
}

// refused notes that the connection cannot send marks: its messages are never confirmed.
func (c *confirmation) refused() { c.marks.state, c.how = markless, ByWriting }

// silent reports whether a client has given other signs of life but no echo for so long that it is mute from now on.
// ReachedAt and heardAt are Outbox.Mark's. Full: unconfirmed messages use up the budget, so a slow path gets no extra time.
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

type echo uint8

const (
	echoNothing  echo = iota // the pong changes nothing
	echoConfirms             // the pong confirms all messages up to its number
	echoNever                // the client does not echo: it will never confirm anything
)

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
		if c.marks.foreign++; c.marks.foreign >= foreignPongsMax {
			c.client, c.how = clientMute, ByWriting
			return 0, echoNever
		}
	}
	return 0, echoNothing
}

// receive classifies a message number from the player. Current: it came on the newest connection.
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

// Receipt says what to do with a numbered message from the player.
type Receipt uint8

// Receipts.
const (
	Next      Receipt = iota + 1 // handle it
	Duplicate                    // drop it: it was handled before
	Late                         // drop it: it came on an older connection, and the player sends it again on the new one
	Violation                    // close the connection: the number is invalid
)

// unacked returns how many received messages have not been acknowledged to the player.
func (c *confirmation) unacked() uint64 { return c.received.Load() - c.ackTold.Load() }

// takeAck returns the number that the next packet acknowledges, 0 for none.
func (c *confirmation) takeAck() uint64 {
	n := c.received.Load()
	if n == c.ackTold.Load() {
		return 0
	}
	c.ackTold.Store(n)
	c.ackNow = false
	return n
}

// appendAck appends an ack in a packet of its own, unless another packet has carried it.
func (c *confirmation) appendAck(sink wire.Sink) {
	c.ackNow = false
	if n := c.takeAck(); n != 0 {
		f := wire.NewAck()
		sink.AppendNumbered(f, 0, n)
		f.Release()
	}
}
