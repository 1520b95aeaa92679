package client

import (
	"encoding/binary"
	"errors"
	"fmt"

	"troupe/messages/wire"
)

// acksMax is how many packets may arrive unacknowledged before an ack is sent at once (reliability.md 2.4).
const acksMax = 16

// acksRidingMax replaces acksMax while the client's own packets carry the acks, because the next packet comes soon. A
// separate ack costs the host as much as a message. With fifty players in a game session, one ack for every sixteen
// packets would take a fifth of the host's time.
const acksRidingMax = 64

// Errors of numbers.
var (
	// errNumbers means that the host has violated the numbering. The connection must end.
	errNumbers = errors.New("client: the host's numbers do not add up")
	// errNotResumed means that a login did not resume the player session, so unacknowledged packets are lost.
	errNotResumed = errors.New("client: the host knows nothing of the player session's past")
)

// numbers is the numbering state of one player session. It outlives the connections. It
// holds the packets that are not acknowledged, and the highest numbers received and
// acknowledged. It has no goroutines, clocks or links.
//
// If the host does not number packets, packets are kept only until they are written.
type numbers struct {
	bytesMax, messagesMax int // limits of out

	numbering numbering
	token     string // reconnect token of the newest login answer
	out       outbox
	last      uint64 // number of the newest packet
	sent      uint64 // highest number that was ever written

	received uint64 // highest number received
	dropped  uint64 // how many unnumbered messages the host has lost, according to its last login answer
	// state of the current connection
	told       uint64 // highest number acknowledged to the host
	heard      uint64 // highest number acknowledged by the host
	ackOverdue bool   // an ack has waited for ackDelay
	acksRide   bool   // the last ack was sent in a packet, not separately
}

// numbering says whether both sides number their packets.
type numbering uint8

const (
	numberingUnknown numbering = iota // before the first login
	numberingOff
	numberingOn
)

// numberingOf reads the numbering from the capabilities in a login answer.
func numberingOf(caps uint64) numbering {
	if caps&wire.CapNumbers != 0 {
		return numberingOn
	}
	return numberingOff
}

// on reports whether both sides number their packets.
func (n *numbers) on() bool { return n.numbering == numberingOn }

// put queues one packet. If numbering is on and fast is false, it numbers the packet. It returns false if there is no room.
func (n *numbers) put(h *wire.Header, fast bool) (ok bool) {
	h.Reliable = !fast || !n.on()
	if h.RelSeq = 0; n.on() && !fast {
		h.RelSeq = n.last + 1
	}
	if n.out.count >= n.messagesMax || n.out.count > 0 && n.out.bytes+h.Size() > n.bytesMax {
		return false
	}
	packet := packets.Get().(*[]byte)
	*packet = h.Append((*packet)[:0])
	n.out.add(kept{packet: packet, number: h.RelSeq, fast: fast})
	n.last = max(n.last, h.RelSeq)
	return true
}

// next appends to dst the next packet, or an ack that is due. A numbered packet includes an ack. again means that an
// earlier connection has already written the packet.
func (n *numbers) next(dst []byte) (unit []byte, again, ok bool) {
	k := n.out.next()
	switch {
	case k == nil && !n.ackDue():
		return dst, false, false
	case k == nil:
		n.acksRide = false
		return wire.AppendAck(dst, n.acknowledge()), false, true
	}
	var tail wire.Header
	if k.number != 0 {
		n.acksRide = n.acksRide || n.ackOpen()
		tail.Ack = n.acknowledge()
	}
	dst = binary.AppendUvarint(dst, uint64(len(*k.packet)+tail.Size()))
	dst = tail.Append(append(dst, *k.packet...))
	again = k.number != 0 && k.number <= n.sent
	n.sent = max(n.sent, k.number)
	n.out.written++
	if k.number == 0 {
		n.out.release(k)
	}
	return dst, again, true
}

// idle reports whether everything is written.
func (n *numbers) idle() bool { return n.out.next() == nil && !n.ackDue() }

// ackOpen reports whether there is anything to acknowledge. ackDue reports whether the ack must be sent now.
func (n *numbers) ackOpen() bool { return n.on() && n.received > n.told }

func (n *numbers) ackDue() bool {
	most := uint64(acksMax)
	if n.acksRide {
		most = acksRidingMax
	}
	return n.ackOpen() && (n.ackOverdue || n.received-n.told >= most)
}

func (n *numbers) acknowledge() uint64 {
	n.told, n.ackOverdue = n.received, false
	return n.told
}

// take processes the number and the ack of a received packet; 0 means that the packet has none. It returns false if the
// packet is a duplicate. An error is a violation of the protocol; the connection must end.
func (n *numbers) take(number, ack uint64) (fresh bool, err error) {
	if !n.on() {
		return true, nil
	}
	if ack != 0 {
		if ack > n.sent || ack < n.heard {
			return false, fmt.Errorf("%w: ack %d after %d, of %d sent", errNumbers, ack, n.heard, n.sent)
		}
		n.heard = ack
		n.out.trim(ack)
	}
	switch {
	case number == 0:
		return true, nil
	case number <= n.received:
		return false, nil
	case number > n.received+1:
		return false, fmt.Errorf("%w: packet %d after %d", errNumbers, number, n.received)
	}
	n.received = number
	return true, nil
}

// login fills in the fields that the host needs to resume the player session.
func (n *numbers) login(l *wire.Login) {
	l.Caps, l.ReconnectToken = wire.CapNumbers|wire.CapMoves, n.token
	if n.on() {
		l.LastReceived = n.received
	}
}

// resumption is the result of a login.
type resumption struct {
	replay uint64 // packets that will be sent again
	gap    uint64 // packets of the host that are lost
}

// answer processes the answer to a login. said is the highest received number that the login reported. After an
// error the player session cannot be continued.
func (n *numbers) answer(r *wire.LoginResult, said uint64) (resumption, error) {
	numbering := numberingOf(r.Caps)
	on := numbering == numberingOn
	var done resumption
	switch {
	case n.numbering == numberingUnknown && on:
		// A new player session, or one that another device has used before.
		n.received, n.last, n.sent, n.dropped = r.Base, r.LastReceived, r.LastReceived, r.Lost
	case n.numbering == numberingUnknown:
	case numbering != n.numbering, on && r.Outcome == wire.OutcomeNew:
		return done, errNotResumed
	case on && (r.LastReceived > n.sent || r.LastReceived < n.oldest() || r.Base < said):
		return done, fmt.Errorf("%w: login answered with %d received of %d, and base %d after %d",
			errNumbers, r.LastReceived, n.sent, r.Base, said)
	case on:
		n.out.trim(r.LastReceived)
		done.replay = n.sent - r.LastReceived
		done.gap = r.Base - min(n.received, r.Base) + r.Lost - min(n.dropped, r.Lost)
		n.received, n.dropped = max(n.received, r.Base), max(n.dropped, r.Lost)
	}
	n.numbering, n.token = numbering, r.ReconnectToken
	n.told, n.heard, n.ackOverdue, n.acksRide = 0, 0, false, false
	n.out.rewind()
	return done, nil
}

// progress increases whenever a packet has arrived at either side.
func (n *numbers) progress() uint64 { return n.received + n.oldest() }

// oldest returns the highest number of this side that is known to have arrived at the host.
func (n *numbers) oldest() uint64 {
	for i := range n.out.count {
		if k := n.out.at(i); k.number != 0 {
			return k.number - 1
		}
	}
	return n.last
}
