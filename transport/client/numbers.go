package client

import (
	"encoding/binary"
	"errors"
	"fmt"

	"troupe/messages/wire"
)

// acksMax is how many packets may come before they are acknowledged at once (reliability.md 2.4).
const acksMax = 16

// acksRidingMax is the same if acks ride on the client's own packets, the next of which comes soon. A separate ack costs the
// host as much as a message: with fifty players in a game session, one per sixteen packets would take a fifth of its time.
const acksRidingMax = 64

// Errors of numbers.
var (
	// errNumbers is a violation of the numbering by the host; the connection must end.
	errNumbers = errors.New("client: the host's numbers do not add up")
	// errNotResumed is a login that did not resume: unacknowledged packets are lost.
	errNotResumed = errors.New("client: the host knows nothing of the player session's past")
)

// numbers is the numbering state of one player session, across its connections: the packets that
// are not acknowledged, and the highest numbers received and acknowledged. It has no goroutines,
// clocks or links.
//
// If the host does not number packets, they are kept only until they are written.
type numbers struct {
	bytesMax, messagesMax int // bounds of out

	numbering numbering
	token     string // of the newest answer
	out       outbox
	last      uint64 // number of the newest packet
	sent      uint64 // highest number that was ever written

	received uint64 // highest number received
	dropped  uint64 // unnumbered messages of the host that were lost, by its last login answer
	// of this connection
	told       uint64 // highest number acknowledged to the host
	heard      uint64 // highest number acknowledged by the host
	ackOverdue bool   // an ack has waited long enough
	acksRide   bool   // the last ack was piggybacked on a packet
}

// numbering says whether both sides number their packets.
type numbering uint8

const (
	numberingUnknown numbering = iota // before the first login
	numberingOff
	numberingOn
)

// numberingOf reads the capabilities in a login's answer.
func numberingOf(caps uint64) numbering {
	if caps&wire.CapNumbers != 0 {
		return numberingOn
	}
	return numberingOff
}

// on reports whether both sides number their packets.
func (n *numbers) on() bool { return n.numbering == numberingOn }

// put queues one packet, numbered unless it is fast. False: there is no room.
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

// next appends to dst a packet, with an ack if it is numbered, or an ack that is due. Again: another connection has written the packet.
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

// idle reports that everything is written.
func (n *numbers) idle() bool { return n.out.next() == nil && !n.ackDue() }

// ackOpen reports that there is something to acknowledge, ackDue that it must not wait any longer.
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

// take processes the number and the ack of a received packet, each 0 for none. Fresh: the packet is no duplicate. An error is a
// violation of the protocol, and must end the connection.
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

// login fills in the fields with which the host resumes the player session.
func (n *numbers) login(l *wire.Login) {
	l.Caps, l.ReconnectToken = wire.CapNumbers, n.token
	if n.on() {
		l.LastReceived = n.received
	}
}

// resumption is the result of a login.
type resumption struct {
	replay uint64 // packets that will be written again
	gap    uint64 // lost packets of the host
}

// answer processes the answer to a login that reported said as the highest number received. After an error the session cannot go on.
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

// progress grows when a packet has arrived on either side.
func (n *numbers) progress() uint64 { return n.received + n.oldest() }

// oldest is the highest number that is known to have arrived.
func (n *numbers) oldest() uint64 {
	for i := range n.out.count {
		if k := n.out.at(i); k.number != 0 {
			return k.number - 1
		}
	}
	return n.last
}
