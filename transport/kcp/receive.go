package kcp

import (
	"time"

	kcpgo "github.com/xtaci/kcp-go/v5"

	"troupe/messages/counters"
	"troupe/transport"
)

const (
	// ackDelay is how long an ack waits for data to ride on.
	ackDelay = 4 * time.Millisecond
	// acksMax is how many segments may wait for it.
	acksMax = 8
	// freedMax is how many messages are handed up before a peer that was told a
	// closed window hears that it is open again.
	freedMax = 32
	// aliveEvery is how often records without a message count as a sign of life.
	aliveEvery = 500 * time.Millisecond
)

// onData takes the body of a data frame.
func (e *engine) onData(body []byte) {
	if why := checkSegments(body); why != 0 {
		e.drop(why)
		return
	}
	e.lock()
	if e.phase <= phaseDrain {
		e.guarded(func() { e.takeIn(body) })
	}
	e.heard()
	e.leave()
}

// takeIn gives KCP a checked body and does what follows from it.
func (e *engine) takeIn(body []byte) {
	s, t := &e.sending, &e.taking
	a := note(body, &t.next, t.toldUna+uint32(t.window))
	if int(a.frgMax) >= t.window {
		// It has more segments than ever fit the window, so it never completes.
		e.part(closeTooBig, errTooBig, false)
		return
	}
	waiting := e.kcp.WaitSnd()
	s.flushed, s.inputting = false, true
	ok := e.input(body)
	s.inputting = false
	if !ok {
		e.drop(counters.SegmentTooLarge)
		e.part(closeProtocol, errProtocol, false)
		return
	}
	if s.flushed { // by Input: all acks went out, and when the next resend is due it did not say
		t.acks, e.timer.ack = 0, never
		e.timer.resend = min(e.timer.resend, e.now+resendMin)
	} else {
		t.acks += a.pushes
	}
	t.readable = e.kcp.PeekSize() >= 0

	// What waits may not all be sent: the old window was in its way.
	opened := a.window > s.window && e.kcp.WaitSnd() > int(s.window)
	s.window = a.window
	if !s.windowTold {
		s.windowTold = true
		e.kcp.WndSize(windowSegments, 0)
	}
	progress := e.kcp.WaitSnd() < waiting
	if progress {
		s.progressAt = e.now
	}
	if progress || a.acks {
		if a.acks {
			s.rtt.sample(int32(milliseconds(e.now) + s.clock - a.stamp))
		}
		s.probed, e.timer.probe = false, never
		if e.kcp.WaitSnd() > 0 {
			e.timer.probe = e.now + s.rtt.probeAfter()
		}
	}
	if progress && s.backlog {
		waiting = e.kcp.WaitSnd()
		s.backlog = e.owner.refill()
		opened = opened || e.kcp.WaitSnd() > waiting // there is more to be sent
	}
	hurry := t.acks > 0 && (a.disorder || t.hole || t.acks >= acksMax)
	switch {
	case hurry, a.ask && t.mayAsk(e.now), opened:
		e.flush()
	case progress && t.acks == 0 && !a.hole && e.kcp.WaitSnd() > 0:
		e.flush() // sends nothing, but tells when the next resend is due
	case t.acks > 0:
		e.timer.ack = min(e.timer.ack, e.now+ackDelay)
	}
	if a.hole && e.kcp.WaitSnd() > 0 {
		e.timer.resend = min(e.timer.resend, e.now+reorderDelay)
	}
}

// input runs KCP. It panics on a segment over 1500 bytes, which was refused
// before; should it find another reason, that costs the one connection.
func (e *engine) input(body []byte) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			transport.Panicked(e.set.count, &e.set.log, "KCP input", p)
			ok = false
		}
	}()
	return e.kcp.Input(body, kcpgo.IKCP_PACKET_REGULAR, false) == 0
}

// widen is the login: larger messages, a larger window.
func (e *engine) widen(messageMax int) {
	e.taking.window, e.taking.messageMax = windowSegments, messageMax
	e.kcp.WndSize(0, windowSegments)
}

// delivery is the kind of the next thing for the layer above.
type delivery uint8

const (
	noDelivery delivery = iota
	gotPong
	gotMessage
	gotAlive
	gotEnd
)

// hasDelivery reports whether there is something to be handed up.
func (e *engine) hasDelivery() bool {
	t := &e.taking
	if e.ending.told {
		return false
	}
	return e.ending.over || !t.muted && (t.readable || t.ponged || t.alive)
}

// deliver is the goroutine that hands up what has arrived, as long as there is
// something.
func (e *engine) deliver() {
	for !e.deliverSome() {
	}
}

// deliverSome reports false when the layer above panicked.
func (e *engine) deliverSome() (done bool) {
	buf := takeBuffer(smallBuffer)
	defer func() { giveBuffer(buf) }()
	defer e.recovered()
	for {
		e.lock()
		var what delivery
		var n int
		e.guarded(func() { what, n = e.takeDelivery(&buf) })
		if what == 0 && e.ending.over && !e.ending.told { // it panicked
			what, n = e.takeDelivery(&buf)
		}
		e.leave()
		switch what {
		case noDelivery:
			return true
		case gotPong:
			e.owner.onAlive(buf.b[:n])
		case gotMessage:
			e.owner.onMessage(buf.b[:n])
		case gotAlive:
			e.owner.onAlive(nil)
		case gotEnd:
			e.set.workers.leave()
			e.owner.onClosed(e.ending.end)
		}
	}
}

// takeDelivery moves what is next into buf, which it replaces when it is too small.
func (e *engine) takeDelivery(buf **buffer) (what delivery, n int) {
	t := &e.taking
	switch {
	case t.muted, e.ending.told:
	case t.ponged:
		t.ponged, t.alive, t.aliveAt = false, false, e.now
		return gotPong, copy((*buf).b, t.pong)
	case t.readable:
		t.alive, t.aliveAt = false, e.now
		if n, ok := e.recv(buf); ok {
			return gotMessage, n
		}
	case t.alive:
		t.alive, t.aliveAt = false, e.now
		return gotAlive, 0
	}
	if e.ending.over && !e.ending.told {
		e.ending.told = true
		return gotEnd, 0
	}
	t.delivering = false
	return noDelivery, 0
}

// recv takes a message out of KCP. It reports false for one over the limit, which
// ends the connection.
func (e *engine) recv(buf **buffer) (n int, ok bool) {
	t := &e.taking
	size := e.kcp.PeekSize()
	if size > t.messageMax {
		t.muted = true
		e.part(closeTooBig, errTooBig, false)
		return 0, false
	}
	if size > len((*buf).b) {
		giveBuffer(*buf)
		*buf = takeBuffer(size)
	}
	n = e.kcp.Recv((*buf).b)
	t.readable = e.kcp.PeekSize() >= 0
	if t.freed++; t.toldWindow == 0 && e.phase <= phaseDrain && (!t.readable || t.freed >= freedMax) {
		e.flush()
	}
	return n, true
}
