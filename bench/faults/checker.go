package faults

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"troupe/transport/client"
)

const (
	headBytes    = 16 // sender's index, op code, message number
	payloadBytes = 64
	// examplesMax bounds the recorded examples of one broken promise.
	examplesMax = 5
)

// payload returns the content of a message: the sender's index, the op code and the message number, followed by bytes
// that depend on all three.
func payload(op int32, index int, number uint64) []byte {
	b := make([]byte, payloadBytes)
	binary.LittleEndian.PutUint32(b, uint32(index))
	binary.LittleEndian.PutUint32(b[4:], uint32(op))
	binary.LittleEndian.PutUint64(b[8:], number)
	for i := headBytes; i < len(b); i++ {
		b[i] = byte(uint64(i)*131 + number*31 + uint64(index)*17 + uint64(op))
	}
	return b
}

// violations counts violations of one promise.
type violations struct {
	count    uint64
	examples []string
}

func (v *violations) add(format string, values ...any) {
	if v.count++; len(v.examples) < examplesMax {
		v.examples = append(v.examples, fmt.Sprintf(format, values...))
	}
}

func (v *violations) join(other *violations) {
	v.count += other.count
	v.examples = append(v.examples, other.examples[:min(len(other.examples), examplesMax-len(v.examples))]...)
}

// ledger records what one player has received. It is not safe for concurrent use.
type ledger struct {
	from                                          []received
	reliable, fast                                uint64
	lost, twice, order, content, fastRule, sender violations

	// arrived, if not nil, is called for each reliable message that arrives. missing, if not nil, is called for each
	// reliable message that never arrives.
	arrived func(from int, number uint64, twice bool)
	missing func(from int, number uint64)
}

// received records what one player has received from one other player.
type received struct {
	last     uint64              // highest number of a received reliable message
	holes    map[uint64]struct{} // lower numbers that have not arrived
	fast     map[uint64]struct{} // numbers of received fast messages
	lastFast [2]uint64           // highest number received by the reliable channel [0] and by the fast channel [1]
}

func newLedger(players int) *ledger {
	l := &ledger{from: make([]received, players)}
	for i := range l.from {
		l.from[i].holes, l.from[i].fast = make(map[uint64]struct{}), make(map[uint64]struct{})
	}
	return l
}

// take checks and records one received message.
func (l *ledger) take(c *crew, e *client.Event) {
	if len(e.Payload) < headBytes {
		l.content.add("a message of %d bytes, which nobody sent", len(e.Payload))
		return
	}
	index, number := int(binary.LittleEndian.Uint32(e.Payload)), binary.LittleEndian.Uint64(e.Payload[8:])
	if index >= len(l.from) || !bytes.Equal(e.Payload, payload(e.OpCode, index, number)) {
		l.content.add("other bytes than those of message %d", number)
		return
	}
	if number > c.players[index].newest(e.OpCode) {
		l.content.add("message %d of player %d, who has not sent it", number, index)
		return
	}
	if by, known := c.byPeer[e.Sender]; !known || by != index {
		l.sender.add("message %d of player %d says that peer %d sent it", number, index, e.Sender)
	}
	if e.OpCode == opFast {
		l.takeFast(&l.from[index], index, number, e.Fast)
		return
	}
	l.reliable++
	from := &l.from[index]
	_, late := from.holes[number]
	if l.arrived != nil {
		l.arrived(index, number, number <= from.last && !late)
	}
	if number > from.last {
		for n := from.last + 1; n < number; n++ {
			from.holes[n] = struct{}{}
		}
		from.last = number
		return
	}
	if late {
		delete(from.holes, number)
		l.order.add("message %d of player %d after %d", number, index, from.last)
		return
	}
	l.twice.add("message %d of player %d", number, index)
}

// takeFast checks one fast message. It may have arrived by the reliable channel. Order is required within a channel but
// not between the two channels.
func (l *ledger) takeFast(from *received, index int, number uint64, datagram bool) {
	l.fast++
	channel := &from.lastFast[0]
	if datagram {
		channel = &from.lastFast[1]
	}
	if _, known := from.fast[number]; known {
		l.fastRule.add("fast message %d of player %d a second time", number, index)
	} else if number < *channel {
		l.fastRule.add("fast message %d of player %d after %d", number, index, *channel)
	}
	from.fast[number] = struct{}{}
	*channel = max(*channel, number)
}

// close records as lost all messages that never arrived. sent holds the highest number that each player has sent.
func (l *ledger) close(sent []uint64) {
	for i := range l.from {
		from := &l.from[i]
		for n := range from.holes {
			l.lost.count++
			if len(l.lost.examples) == 0 {
				l.lost.examples = append(l.lost.examples, fmt.Sprintf("message %d of player %d", n, i))
			}
			if l.missing != nil {
				l.missing(i, n)
			}
		}
		for n := from.last + 1; n <= sent[i]; n++ {
			l.lost.add("message %d of player %d", n, i)
			if l.missing != nil {
				l.missing(i, n)
			}
		}
	}
}
