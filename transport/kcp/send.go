package kcp

import (
	"encoding/binary"
	"time"

	kcpgo "github.com/xtaci/kcp-go/v5"
)

const (
	// reorderDelay is how long this side waits for the ack of a segment after a later segment was
	// acknowledged. Then it sends the segment again.
	reorderDelay = 4 * time.Millisecond
	// resendMin is KCP's smallest timeout.
	resendMin = kcpgo.IKCP_RTO_NDL * time.Millisecond
	// askEvery is the interval at which this side asks a peer with a closed window for its window.
	askEvery = 250 * time.Millisecond
)

// room reports whether KCP accepts another message. If not, messages stay queued at the owner.
func (e *engine) room() bool { return e.kcp.WaitSnd() < windowSegments }

// put gives one message to KCP.
func (e *engine) put(message []byte) {
	if e.kcp.WaitSnd() == 0 {
		e.sending.progressAt, e.sending.ackedAt, e.sending.unanswered = e.now, e.now, 0
	}
	if len(message) > MessageMax || e.kcp.Send(message) < 0 {
		e.sending.oversize = true
	}
}

// push moves messages from the owner's queue to KCP and sends them.
func (e *engine) push() {
	if e.phase > phaseDrain {
		return
	}
	waiting := e.kcp.WaitSnd()
	e.sending.backlog = e.owner.refill()
	if e.kcp.WaitSnd() > waiting && !e.backsOff() {
		e.flushNew()
	}
}

// KCP resends all unacknowledged segments at regular intervals, and sends new segments at once. That floods a peer that
// is gone or overloaded. The flood is worst when many clients reconnect to an overloaded host. So, if a peer has
// acknowledged nothing for backOffAfter plus four round trips, only the last data datagram is sent again. The interval
// doubles each time, until the peer acknowledges something.
const (
	backOffAfter = 300 * time.Millisecond
	backOffMin   = 100 * time.Millisecond
	backOffMax   = time.Second
)

// backsOff reports whether the peer has acknowledged nothing for too long.
func (e *engine) backsOff() bool {
	s := &e.sending
	return e.kcp.WaitSnd() > 0 && e.now-s.ackedAt >= backOffAfter+4*s.rtt.mean
}

// flushDue sends what is due: acks, and unacknowledged segments.
func (e *engine) flushDue() {
	s, t := &e.sending, &e.timer
	resend := e.now >= t.resend && e.kcp.WaitSnd() > 0
	if resend {
		s.resentAt = e.now
	}
	switch {
	case !resend, s.window > 0 && !e.backsOff():
		e.flush()
	case s.window == 0:
		e.ask()
		e.flush()
		return
	default:
		e.probe()
	}
	if resend && e.backsOff() {
		t.resend = max(t.resend, e.now+min(max(backOffMin, s.rtt.mean)<<min(s.unanswered, 8), backOffMax))
		s.unanswered++
	}
}

// flushNew sends new segments. It does nothing while a due resend is postponed (isPatient), because KCP would send both.
func (e *engine) flushNew() {
	if e.now < e.timer.resend || !e.isPatient() {
		e.flush()
	}
}

func (e *engine) flushAcks() {
	e.receiving.acks, e.timer.ack = 0, never
	flushKCP(e.kcp, kcpgo.IKCP_FLUSH_ACKONLY)
	e.sendHeld()
}

// flush makes KCP send acks, new segments and resends that are due, and sets the timer of the next resend.
func (e *engine) flush() {
	// KCP sends all its acks. They may be fewer than receiving.acks, because KCP does not acknowledge segments beyond its window.
	e.receiving.acks, e.timer.ack = 0, never
	e.receiving.freed = 0
	// flushKCP reports the next resend only if it is due within KCP's interval. So the interval is 5 s during this
	// call. Otherwise it is 10 ms, because KCP adds it to the resend timeout.
	e.kcp.NoDelay(-1, 5000, -1, -1)
	next := time.Duration(flushKCP(e.kcp, kcpgo.IKCP_FLUSH_FULL)) * time.Millisecond
	e.kcp.NoDelay(-1, 10, -1, -1)
	e.sendHeld() // unless a packet of this flush has included them
	if e.sending.window == 0 {
		next = min(next, askEvery)
	}
	e.timer.resend = e.now + next
	if e.kcp.WaitSnd() == 0 {
		e.timer.resend = never
	}
}

// output is KCP's output callback. It sends a packet, or holds it if it has only acks and KCP's Input is running.
func (e *engine) output(packet []byte, size int) {
	packet = packet[:size]
	s, t := &e.sending, &e.receiving
	if s.input != inputIdle && acksOnly(packet) {
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
		t.sentUna, t.sentWindow = seg.una, seg.window
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
	s.noteSent()
	t.gap = t.sentUna != t.next
	e.write(d[:to])
	if pushes == 0 {
		datagrams.Put(d)
		return
	}
	s.probe.keep(d, from, to, pushes)
	if !s.probe.sent && e.timer.probe == never {
		e.timer.probe = e.now + s.rtt.probeAfter()
	}
}

// noteSent records that a packet was written.
func (s *sending) noteSent() {
	if s.input == inputRunning {
		s.input = inputSent
	}
}

// When an ack arrives, KCP sends its own acks at once in a separate packet. If both sides send messages, that would be
// every second datagram. Therefore these acks are held for up to ackDelay, like all others, and sent with the next packet.

// acksOnly reports whether a packet contains nothing but acks.
func acksOnly(packet []byte) bool {
	for len(packet) > 0 {
		var seg segment
		if seg, packet = cutSegment(packet); seg.cmd != kcpgo.IKCP_CMD_ACK {
			return false
		}
	}
	return true
}

// hold adds a packet of acks to the held acks.
func (e *engine) hold(packet []byte) {
	s, t := &e.sending, &e.receiving
	h := &s.held
	if h.d != nil && h.to+len(packet) > dataMax {
		e.sendHeld()
	}
	if h.d == nil {
		h.d, h.to = datagrams.Get().(*datagram), 1
		h.d[0] = byte(frameData)
	}
	h.to += copy(h.d[h.to:], packet)
	for len(packet) > 0 {
		var seg segment
		seg, packet = cutSegment(packet)
		t.sentUna, t.sentWindow = seg.una, seg.window
	}
}

// compose returns a data frame with room for size bytes from start on. It uses the frame of the held acks if that has enough room.
func (e *engine) compose(size int) (d *datagram, start int) {
	h := &e.sending.held
	if h.d != nil && h.to+size <= dataMax {
		d, start = h.d, h.to
		h.d = nil
		return d, start
	}
	e.sendHeld()
	d = datagrams.Get().(*datagram)
	d[0] = byte(frameData)
	return d, 1
}

// sendHeld sends the held acks in a datagram of their own.
func (e *engine) sendHeld() {
	s, t, h := &e.sending, &e.receiving, &e.sending.held
	if h.d == nil {
		return
	}
	s.noteSent()
	t.gap = t.sentUna != t.next
	e.write(h.d[:h.to])
	datagrams.Put(h.d)
	h.d = nil
}

// ask asks a peer with a closed window for its window. If the peer's notice of the open window was
// lost, KCP alone would ask only after seconds.
func (e *engine) ask() {
	d := datagrams.Get().(*datagram)
	defer datagrams.Put(d)
	clear(d[:1+kcpgo.IKCP_OVERHEAD])
	d[0] = byte(frameData)
	b := d[1:]
	binary.LittleEndian.PutUint32(b, conversation)
	b[4] = kcpgo.IKCP_CMD_WASK
	binary.LittleEndian.PutUint16(b[6:], e.receiving.sentWindow)
	binary.LittleEndian.PutUint32(b[8:], e.sending.clock+milliseconds(e.now))
	binary.LittleEndian.PutUint32(b[16:], e.receiving.sentUna)
	e.write(d[:1+kcpgo.IKCP_OVERHEAD])
}

// milliseconds converts a time to KCP's unit.
func milliseconds(d time.Duration) uint32 { return uint32(d / time.Millisecond) }

// keep takes ownership of d, the last data frame.
func (p *lossProbe) keep(d *datagram, from, to, pushes int) {
	p.forget()
	p.d, p.from, p.to, p.pushes = d, from, to, pushes
}

// forget returns the copy of the last data frame to its pool.
func (p *lossProbe) forget() {
	if p.d != nil {
		datagrams.Put(p.d)
		p.d = nil
	}
}

// probe sends the last data frame again. The copy has a new time stamp, and the una and window last sent to the peer.
func (e *engine) probe() {
	s := &e.sending
	p := &s.probe
	e.timer.probe, p.sent = never, true
	if p.d == nil {
		return
	}
	b := p.d[p.from:p.to]
	b[0] = byte(frameData)
	for rest := b[1:]; len(rest) > 0; _, rest = cutSegment(rest) {
		binary.LittleEndian.PutUint16(rest[6:], e.receiving.sentWindow)
		binary.LittleEndian.PutUint32(rest[8:], s.clock+milliseconds(e.now))
		binary.LittleEndian.PutUint32(rest[16:], e.receiving.sentUna)
	}
	e.set.count.Resent.Add(int64(p.pushes))
	e.write(b)
}
