package sim

import (
	"time"

	"troupe/transport/transporttest/stock"
)

// This file implements the player's side of the extension (reliability.md 2.2 to 2.4).

// resume applies the numbers of LOGIN_RESPONSE, and resends what the host has not received.
func (d *device) resume(l *link, m *packet) {
	r := m.result
	token := m.LoginResult.ReconnectToken
	switch {
	case r.caps != 1:
		d.failf("RL-7: player %d is answered with caps %d", d.index, r.caps)
		return
	case token == "" || token == d.token:
		d.failf("RL-12: player %d is given the token %q once more", d.index, token)
	case r.windowMs != uint64(d.plan.window/time.Millisecond):
		d.failf("RL-14: player %d is told a window of %d ms", d.index, r.windowMs)
	}
	if d.token != "" {
		d.old = d.token // invalid as soon as something is acknowledged on this connection
	}
	d.token = token
	switch {
	case r.outcome == outcomeNew:
		if d.player.presence != nil && d.cur == d.player.presence {
			d.failf("RL-2: player %d is told that its presence is new, in the middle of it", d.index)
		}
		d.received, d.last, d.acked, d.held = 0, 0, 0, nil
		d.restart()
		if r.base != 0 || r.lastReceived != 0 {
			d.failf("RL-1: a new presence of player %d begins at %d and %d", d.index, r.base, r.lastReceived)
		}
	case r.outcome == outcomeGap && d.plan.gap && (l.fresh || r.base > d.received || r.lost > d.dropped):
		d.gap = true
		d.missing += int(r.base-min(r.base, d.received)) + int(r.lost-min(r.lost, d.dropped))
		if d.received = r.base; l.fresh {
			d.last, d.acked = r.lastReceived, r.lastReceived
			d.restart()
		}
	// the loss is reported a second time
	case r.outcome == outcomeGap && d.plan.gap && r.lost == d.dropped && r.lost > 0 && r.base == d.received:
	case r.outcome != outcomeResumed:
		d.failf("RL-2: player %d is told that messages are lost: outcome %d, base %d, it has %d", d.index, r.outcome, r.base, d.received)
		d.received = r.base
	case l.fresh && int(r.base) < d.surely(d.player.presence):
		d.failf("RL-3: a new device of player %d begins at %d, %d were acknowledged", d.index, r.base, d.surely(d.player.presence))
	case l.fresh:
		d.received, d.last, d.acked = r.base, r.lastReceived, r.lastReceived
		d.restart()
	case r.base != d.received:
		d.failf("RL-1: player %d has %d, and is told that %d comes next", d.index, d.received, r.base+1)
	case r.lastReceived < d.acked || r.lastReceived > d.last:
		d.failf("RL-6: the host has %d of player %d, who sent %d and knows of %d", r.lastReceived, d.index, d.last, d.acked)
	}
	if l.fresh {
		// a new device is told of all earlier losses, including those of messages with numbers up to the base
		d.missing = int(r.lost) + max(0, int(r.base)-d.surely(d.player.presence))
	}
	d.dropped = r.lost
	d.known = true
	l.ackSeen, d.ackedOut = r.lastReceived, d.received
	d.forget(r.lastReceived)
	for i := range d.held {
		d.put(l, &d.held[i])
	}
}

// restart begins a new numbering of application messages.
func (d *device) restart() {
	d.player.units++
	d.unit, d.sent = d.player.units, 0
}

// forget drops packets that the host has received.
func (d *device) forget(ack uint64) {
	d.acked = max(d.acked, ack)
	for len(d.held) > 0 && d.held[0].n <= ack {
		d.held = d.held[1:]
	}
}

// put writes a numbered packet with the current acknowledgement, or without one if ack would not send it.
func (d *device) put(l *link, h *numbered) {
	h.p.relSeq, h.p.ack = h.n, 0
	if l.expect == 0 {
		h.p.ack = d.received
		defer d.ackDone()
	}
	l.write(&h.p)
}

// number assigns a number to a packet. It sends the packet now, or when the host can be reached.
func (d *device) number(p *packet) {
	d.last++
	d.held = append(d.held, numbered{d.last, *p})
	if l := d.link; l != nil && l.in {
		d.put(l, &d.held[len(d.held)-1])
	}
}

// numbers checks the numbers of a packet from the host (RL-1, RL-5, RL-6). It reports whether the packet is
// to be handled.
func (d *device) numbers(l *link, m *packet) bool {
	switch {
	case m.ack == 0:
	case m.ack > d.last:
		d.failf("RL-6: player %d sent %d, and %d are acknowledged", d.index, d.last, m.ack)
	case m.ack < l.ackSeen:
		d.failf("RL-6: %d are acknowledged to player %d, after %d", m.ack, d.index, l.ackSeen)
	default:
		l.ackSeen = m.ack
		d.forget(m.ack)
	}
	switch {
	case m.relSeq == 0 && m.OpCode == 0 && len(m.Payload) == 0: // an acknowledgement without a message
		return false
	case m.relSeq == 0 && m.OpCode == opFast:
		return true
	case m.relSeq == 0 || m.OpCode == opFast:
		d.failf("RL-5: player %d got a packet with op code %d, reliable %v, and number %d", d.index, m.OpCode, m.Reliable, m.relSeq)
		return m.relSeq == 0
	case m.relSeq != d.received+1:
		d.failf("RL-1: player %d got number %d after %d", d.index, m.relSeq, d.received)
		return m.relSeq > d.received
	}
	d.received = m.relSeq
	d.owesAck(l)
	return true
}

// owesAck sends an acknowledgement, or schedules one in time.
func (d *device) owesAck(l *link) {
	switch {
	case d.received-d.ackedOut >= ackEvery:
		d.ack(l)
	case d.ackTimer == nil:
		d.ackTimer = time.AfterFunc(ackAfter, func() { d.ackDue(l) })
	}
}

func (d *device) ackDue(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ackTimer = nil
	if d.link == l && l.in && d.received > d.ackedOut {
		d.ack(l)
	}
}

// ack sends an acknowledgement. After a protocol violation it sends nothing: the host would close the
// connection for an acknowledgement lower than before.
func (d *device) ack(l *link) {
	if l.expect != 0 {
		return
	}
	l.write(&packet{Packet: stock.Packet{Reliable: true}, ack: d.received})
	d.ackDone()
}

// ackDone records that the host was told what has arrived.
func (d *device) ackDone() {
	if d.received > d.ackedOut && d.old != "" {
		d.dead, d.old = append(d.dead, deadToken{d.old, time.Now()}), ""
	}
	d.ackedOut = d.received
	d.dropAck()
	if d.received > 0 && d.brokenAt.IsZero() && !d.link.idle() {
		d.marks = append(d.marks, mark{d.player.presence, int(d.received), time.Now()})
	}
}

func (d *device) dropAck() {
	if d.ackTimer != nil {
		d.ackTimer.Stop()
		d.ackTimer = nil
	}
}
