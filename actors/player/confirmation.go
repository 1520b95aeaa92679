package player

import (
	"strconv"
	"sync/atomic"
	"time"

	"troupe/messages/wire"
)

// Confirmation is the method by which the host learns which messages a player has received.
type Confirmation uint8

// Values of Confirmation.
const (
	// ByWriting: there is no confirmation. A message counts as received as soon as the connection has taken it, so a
	// reconnect may lose messages.
	ByWriting Confirmation = iota + 1
	// ByMarks: the client is a stock client, whose WebSocket library echoes the payloads of pings (reliability.md 2.5).
	ByMarks
	// ByAcks: the client uses the protocol extension and sends acks (reliability.md 2.4).
	ByAcks
)

const (
	// A stock client gets a mark at least every markBytes bytes and every markCount messages, or every 1/markShare of
	// the budget. Messages stay queued until the mark is echoed. For 192 messages the queue's ring needs 256 places (4
	// KiB). A mark and its echo cost less than 1 % of the messages.
	markBytes = 64 << 10
	markCount = 192
	markShare = 8
	// A client is mute after foreignPongsMax pongs that echo no mark while a mark is pending.
	foreignPongsMax = 2
	// A client that never answers pings is mute muteAfter after the first ping reached its system, if it has given
	// other signs of life since. The ping may wait in the system's buffer behind earlier bytes: slowestPath, in bytes
	// per second, limits the extra time allowed for them.
	muteAfter   = 10 * time.Second
	slowestPath = 1 << 10
)

// confirmation is what each side of a player session knows to have reached the other side: acks, numbers and echoes. It
// holds no messages. The lock of the Outbox guards it.
type confirmation struct {
	// received is the highest number received from the player; the game session writes it. ackTold is the highest
	// number that the host has acknowledged.
	received, ackTold atomic.Uint64

	confirmed uint64     // the highest number that the player has acknowledged
	client    clientEcho // what is known about the player's client, across connections

	// The following fields belong to the newest connection.
	how      Confirmation
	proved   bool   // the player has this connection's LOGIN_RESPONSE: it has sent an ack or a numbered message on it
	ackNow   bool   // the next drain sends an ack, in its own packet if necessary
	position uint64 // number of the last message that the connection took; initially the base
	ack      uint64 // the highest ack received on the connection
	marks    marking
}

// clientEcho says whether a client echoes pings.
type clientEcho uint8

const (
	clientUnknown clientEcho = iota
	clientEchoes
	clientMute // the client does not echo pings
)

// marking is the state of one connection's marks. A mark is a ping whose payload is a message number.
type marking struct {
	state    markState
	mark     uint64 // the highest mark sent
	bytes    int    // bytes sent since the newest mark
	messages int    // messages sent since the newest mark
	foreign  int    // number of pongs that echoed no mark
	unpinged int    // bytes sent before the first ping
}

// markState says whether a connection sends marks.
type markState uint8

const (
	markless markState = iota // the connection cannot send marks
	unmarked                  // no mark has been sent yet
	marked
)

// begin starts the confirmation state of a new connection. The connection's first message will have the number base+1.
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
	c.ackTold.Store(c.received.Load()) // LOGIN_RESPONSE carries this ack
}

// acked handles an ack of number n, where sent is the highest number sent to the player. It returns false if n is
// higher than sent or lower than an earlier ack.
func (c *confirmation) acked(n, sent uint64) (ok bool) {
	if c.how != ByAcks || n > sent || n < c.ack {
		return false
	}
	c.proved, c.ack, c.confirmed = true, n, max(c.confirmed, n)
	return true
}

// gave records that the connection has taken message n. It returns true if the connection should now send a mark.
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

// asked records that a mark is being sent and returns its payload, the number of the last message taken.
func (c *confirmation) asked() uint64 {
	m := &c.marks
	m.mark, m.bytes, m.messages = c.position, 0, 0
	if m.state == unmarked {
		m.state = marked
	}
	return m.mark
}

// refused records that the connection cannot send marks, so that its messages will never be confirmed.
func (c *confirmation) refused() { c.marks.state, c.how = markless, ByWriting }

// silent reports whether a client has given signs of life without an echo for so long that it counts as mute from now
// on. reachedAt and heardAt are as in Outbox.Mark. If full is true, unconfirmed messages use up the budget, and a slow
// path gets no extra time.
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
	echoNever                // the client does not echo and will never confirm messages
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

// receive classifies a message number from the player. current says that the message came on the newest connection.
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

// Receipt says how to handle a numbered message from the player.
type Receipt uint8

// Values of Receipt.
const (
	Next      Receipt = iota + 1 // handle it
	Duplicate                    // drop it: a duplicate
	Late                         // drop it: it came on an older connection, and the player sends it again on the new one
	Violation                    // close the connection: the number is invalid
)

// unacked returns the number of received messages that the host has not acknowledged to the player.
func (c *confirmation) unacked() uint64 { return c.received.Load() - c.ackTold.Load() }

// takeAck returns the number that the next packet acknowledges. It returns 0 if there is nothing new to acknowledge.
func (c *confirmation) takeAck() uint64 {
	n := c.received.Load()
	if n == c.ackTold.Load() {
		return 0
	}
	c.ackTold.Store(n)
	c.ackNow = false
	return n
}

// appendAck appends an ack packet, unless another packet has already carried the ack.
func (c *confirmation) appendAck(sink wire.Sink) {
	c.ackNow = false
	if n := c.takeAck(); n != 0 {
		f := wire.NewAck()
		sink.AppendNumbered(f, 0, n)
		f.Release()
	}
}
