package kcp

import (
	"encoding/binary"
	"time"

	kcpgo "github.com/xtaci/kcp-go/v5"
)

const (
	// reorderDelay is how long what seems lost may still come, before it is sent
	// again on the word of one later ack.
	reorderDelay = 4 * time.Millisecond
	// resendMin is KCP's smallest timeout.
	resendMin = kcpgo.IKCP_RTO_NDL * time.Millisecond
	// askEvery is how often the peer is asked for its window while that is closed.
	askEvery = 250 * time.Millisecond
)

// room reports whether KCP takes another message. The bound is what keeps the
// queue where it is bounded: with the owner.
func (e *engine) room() bool { return e.kcp.WaitSnd() < windowSegments }

// put gives KCP one message.
func (e *engine) put(message []byte) {
	if e.kcp.WaitSnd() == 0 {
		e.sending.progressAt = e.now
	}
	if len(message) > MessageMax || e.kcp.Send(message) < 0 {
		e.sending.oversize = true
	}
}

// push takes what the owner has and sends it.
func (e *engine) push() {
	if e.phase > phaseDrain {
		return
	}
	waiting := e.kcp.WaitSnd()
	e.sending.backlog = e.owner.refill()
	if e.kcp.WaitSnd() > waiting {
		e.flush()
	}
}

// flush makes KCP send what is due: acks, new segments, resends. It learns when
// the next resend is due.
func (e *engine) flush() {
	// All acks go out, and there may be fewer than we counted: KCP does not
	// acknowledge what is beyond its window.
	e.taking.acks, e.timer.ack = 0, never
	e.taking.freed = 0
	// flush reports a resend within KCP's interval only, and that is 10 ms because
	// the timeout has it as a summand.
	e.kcp.NoDelay(-1, 5000, -1, -1)
	next := time.Duration(flushKCP(e.kcp, kcpgo.IKCP_FLUSH_FULL)) * time.Millisecond
	e.kcp.NoDelay(-1, 10, -1, -1)
	e.sendHeld() // nothing went out that it could ride with
	if e.sending.window == 0 {
		next = min(next, askEvery)
	}
	e.timer.resend = e.now + next
	if e.kcp.WaitSnd() == 0 {
		e.timer.resend = never
	}
}

// output is what KCP calls with a packet.
func (e *engine) output(packet []byte, size int) {
	packet = packet[:size]
	s, t := &e.sending, &e.taking
	if s.inputting && acksOnly(packet) {
		e.hold(packet)
		return
	}
	d, start := e.compose(size)
	to := start + copy(d[start:], packet)
	from, pushes := 0, 0
	for rest := packet; len(rest) > 0; {
		at := to - len(rest)
		var seg segment
		seg, rest = cutSegment(rest)
		t.toldUna, t.toldWindow = seg.una, seg.window
		if seg.cmd != kcpgo.IKCP_CMD_PUSH {
			continue
		}
		if pushes++; pushes == 1 {
			from = at - 1
		}
		s.clock = seg.stamp - milliseconds(e.now)
		if before(seg.number, s.next) {
			e.set.count.Resent.Add(1)
			continue
		}
		s.next = seg.number + 1
	}
	s.flushed = true
	t.hole = t.toldUna != t.next
	e.write(d[:to])
	if pushes == 0 {
		datagrams.Put(d)
		return
	}
	e.forgetLast()
	s.last, s.lastFrom, s.lastTo, s.lastPushes = d, from, to, pushes
	if !s.probed && e.timer.probe == never {
		e.timer.probe = e.now + s.rtt.probeAfter()
	}
}

// KCP lets its acks go as soon as an ack of the peer's comes in, in a packet of
// their own. Where both sides talk that would be every second datagram, so these
// acks are held, as long as other acks are, and ride with what goes out next.

// acksOnly reports whether nothing in a packet is in a hurry.
func acksOnly(packet []byte) bool {
	for len(packet) > 0 {
		var seg segment
		if seg, packet = cutSegment(packet); seg.cmd != kcpgo.IKCP_CMD_ACK {
			return false
		}
	}
	return true
}

// hold keeps a packet of acks.
func (e *engine) hold(packet []byte) {
	s, t := &e.sending, &e.taking
	if s.held != nil && s.heldTo+len(packet) > dataMax {
		e.sendHeld()
	}
	if s.held == nil {
		s.held, s.heldTo = datagrams.Get().(*datagram), 1
		s.held[0] = byte(frameData)
	}
	s.heldTo += copy(s.held[s.heldTo:], packet)
	for len(packet) > 0 {
		var seg segment
		seg, packet = cutSegment(packet)
		t.toldUna, t.toldWindow = seg.una, seg.window
	}
}

// compose returns a data frame with room for size bytes behind start: the held
// one, if it has the room.
func (e *engine) compose(size int) (d *datagram, start int) {
	s := &e.sending
	if s.held != nil && s.heldTo+size <= dataMax {
		d, start = s.held, s.heldTo
		s.held = nil
		return d, start
	}
	e.sendHeld()
	d = datagrams.Get().(*datagram)
	d[0] = byte(frameData)
	return d, 1
}

// sendHeld sends held acks by themselves.
func (e *engine) sendHeld() {
	s, t := &e.sending, &e.taking
	if s.held == nil {
		return
	}
	s.flushed = true
	t.hole = t.toldUna != t.next
	e.write(s.held[:s.heldTo])
	datagrams.Put(s.held)
	s.held = nil
}

// ask asks a peer with a closed window for it. KCP asks too, but after seconds:
// if the one word that it is open again is lost, that is too late.
func (e *engine) ask() {
	d := datagrams.Get().(*datagram)
	defer datagrams.Put(d)
	clear(d[:1+kcpgo.IKCP_OVERHEAD])
	d[0] = byte(frameData)
	b := d[1:]
	binary.LittleEndian.PutUint32(b, conversation)
	b[4] = kcpgo.IKCP_CMD_WASK
	binary.LittleEndian.PutUint16(b[6:], e.taking.toldWindow)
	binary.LittleEndian.PutUint32(b[8:], e.sending.clock+milliseconds(e.now))
	binary.LittleEndian.PutUint32(b[16:], e.taking.toldUna)
	e.write(d[:1+kcpgo.IKCP_OVERHEAD])
}

// milliseconds is a time as KCP counts it.
func milliseconds(d time.Duration) uint32 { return uint32(d / time.Millisecond) }

// forgetLast gives the copy of the last data frame back.
func (e *engine) forgetLast() {
	if e.sending.last != nil {
		datagrams.Put(e.sending.last)
		e.sending.last = nil
	}
}

// probe sends the last data frame once more: its data, without the acks before
// it, with a new time stamp, and with our window as the peer knows it, which may
// have moved since.
func (e *engine) probe() {
	s := &e.sending
	e.timer.probe, s.probed = never, true
	if s.last == nil {
		return
	}
	b := s.last[s.lastFrom:s.lastTo]
	b[0] = byte(frameData)
	for rest := b[1:]; len(rest) > 0; _, rest = cutSegment(rest) {
		binary.LittleEndian.PutUint16(rest[6:], e.taking.toldWindow)
		binary.LittleEndian.PutUint32(rest[8:], s.clock+milliseconds(e.now))
		binary.LittleEndian.PutUint32(rest[16:], e.taking.toldUna)
	}
	e.set.count.Resent.Add(int64(s.lastPushes))
	e.write(b)
}
