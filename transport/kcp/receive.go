package kcp

import (
	"time"

	kcpgo "github.com/xtaci/kcp-go/v5"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
)

const (
	// ackDelay is how long an ack waits to be sent together with data.
	ackDelay = 4 * time.Millisecond
	// acksMax is how many acks may wait. When it is reached, they are sent at once.
	acksMax = 8
	// freedMax is how many messages are handed up before this side announces to the peer that its closed window is open again.
	freedMax = 32
	// aliveEvery is the shortest interval between two calls of onAlive without a pong.
	aliveEvery = 500 * time.Millisecond
)

// onData handles the body of a data frame.
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

// takeIn passes a checked body to KCP, and sends acks and data that have become due.
func (e *engine) takeIn(body []byte) {
	s, t := &e.sending, &e.receiving
	a := note(body, &t.next, t.sentUna+uint32(t.window))
	if int(a.frgMax) >= t.window {
		// The message has more segments than the window holds, so it can never be completed.
		e.startClose(messages.CloseMessageTooBig, errTooBig, false)
		return
	}
	waiting := e.kcp.WaitSnd()
	s.input = inputRunning
	ok := e.input(body)
	sent := s.input == inputSent
	s.input = inputIdle
	if !ok {
		e.drop(counters.SegmentTooLarge)
		e.startClose(messages.CloseProtocolError, errProtocol, false)
		return
	}
	// KCP's Input has sent all acks. It does not return when the next resend is due.
	if sent {
		t.acks, e.timer.ack = 0, never
		e.timer.resend = min(e.timer.resend, e.now+resendMin)
	} else {
		t.acks += a.pushes
	}
	e.handover.set(pendingMessage, e.kcp.PeekSize() >= 0)

	// A larger window may admit segments that did not fit the old one.
	opened := a.window > s.window && e.kcp.WaitSnd() > int(s.window)
	s.window = a.window
	if !s.windowKnown {
		s.windowKnown = true
		e.kcp.WndSize(windowSegments, 0)
	}
	progress := e.kcp.WaitSnd() < waiting
	if progress {
		s.progressAt = e.now
	}
	if progress || a.acked {
		if s.ackedAt = e.now; s.unanswered > 0 {
			s.unanswered = 0
			e.timer.resend = min(e.timer.resend, e.now+resendMin)
		}
		if a.acked {
			s.rtt.sample(int32(milliseconds(e.now) + s.clock - a.stamp))
		}
		s.probe.sent, e.timer.probe = false, never
		if e.kcp.WaitSnd() > 0 {
			e.timer.probe = e.now + s.rtt.probeAfter()
		}
	}
	if progress && s.backlog {
		waiting = e.kcp.WaitSnd()
		s.backlog = e.owner.refill()
		opened = opened || e.kcp.WaitSnd() > waiting // refill has added segments
	}
	hurry := t.acks > 0 && (a.outOfOrder || t.gap || t.acks >= acksMax)
	switch {
	case hurry, a.asksWindow && t.mayAnswer(e.now), opened:
		e.flush()
	case progress && t.acks == 0 && !a.ackGap && e.kcp.WaitSnd() > 0:
		e.flush() // sends nothing, but returns when the next resend is due
	case t.acks > 0:
		e.timer.ack = min(e.timer.ack, e.now+ackDelay)
	}
	if a.ackGap && e.kcp.WaitSnd() > 0 {
		e.timer.resend = min(e.timer.resend, e.now+reorderDelay)
	}
}

// input runs KCP's Input. checkSegments has already refused the bodies on which it is known to panic.
func (e *engine) input(body []byte) (ok bool) {
	defer transport.Rescue(e.set.count, &e.set.log, "KCP input", nil)
	return e.kcp.Input(body, kcpgo.IKCP_PACKET_REGULAR, false) == 0
}

// widen raises the limits after the login: it allows larger messages and a larger window.
func (e *engine) widen(messageMax int) {
	e.receiving.window, e.receiving.messageMax = windowSegments, messageMax
	e.kcp.WndSize(0, windowSegments)
}

// handover is what is pending for the owner, and whether a goroutine is delivering it.
type handover struct {
	pending pending
	running bool // the handover goroutine is running
	muted   bool // this side is closing: only the end is delivered
	aliveAt time.Duration
	pong    []byte // the payload of pendingPong; nil until the first pong
}

// pending is the set of deliveries that wait for the owner.
type pending uint8

const (
	pendingPong    pending = 1 << iota
	pendingMessage         // KCP has at least one complete message
	pendingAlive           // a sign of life without a message
)

func (h *handover) has(p pending) bool { return h.pending&p != 0 }

func (h *handover) set(p pending, on bool) {
	h.pending &^= p
	if on {
		h.pending |= p
	}
}

// delivery is the kind of one call of the owner.
type delivery uint8

const (
	noDelivery delivery = iota
	gotPong
	gotMessage
	gotAlive
	gotEnd
)

// hasDelivery reports whether anything must be delivered.
func (e *engine) hasDelivery() bool {
	switch e.ending.report {
	case endReported:
		return false
	case endFinal:
		return true
	}
	return !e.handover.muted && e.handover.pending != 0
}

// deliver is the handover goroutine. It runs until nothing is pending.
func (e *engine) deliver() {
	for !e.deliverSome() {
	}
}

// deliverSome delivers what is pending. It returns false if the owner has panicked.
func (e *engine) deliverSome() (done bool) {
	buf := takeBuffer(smallBuffer)
	defer func() { giveBuffer(buf) }()
	defer transport.Rescue(e.set.count, &e.set.log, "KCP handler", e.panicked)
	for {
		e.lock()
		var what delivery
		var n int
		e.guarded(func() { what, n = e.takeDelivery(&buf) })
		if what == noDelivery && e.ending.report == endFinal { // takeDelivery has panicked: report the end
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

// takeDelivery moves the next delivery into buf. It replaces buf if that is too small.
func (e *engine) takeDelivery(buf **buffer) (what delivery, n int) {
	h := &e.handover
	if !h.muted && h.pending != 0 && e.ending.report != endReported {
		h.aliveAt = e.now
		switch { // each case also counts as a sign of life
		case h.has(pendingPong):
			h.set(pendingPong|pendingAlive, false)
			return gotPong, copy((*buf).b, h.pong)
		case h.has(pendingMessage):
			h.set(pendingAlive, false)
			if n, ok := e.recv(buf); ok {
				return gotMessage, n
			}
		default:
			h.set(pendingAlive, false)
			return gotAlive, 0
		}
	}
	if e.ending.report == endFinal {
		e.ending.report = endReported
		return gotEnd, 0
	}
	h.running = false
	return noDelivery, 0
}

// recv takes a message out of KCP. A message over the limit closes the connection.
func (e *engine) recv(buf **buffer) (n int, ok bool) {
	t, h := &e.receiving, &e.handover
	size := e.kcp.PeekSize()
	if size > t.messageMax {
		h.muted = true
		e.startClose(messages.CloseMessageTooBig, errTooBig, false)
		return 0, false
	}
	if size > len((*buf).b) {
		giveBuffer(*buf)
		*buf = takeBuffer(size)
	}
	n = e.kcp.Recv((*buf).b)
	h.set(pendingMessage, e.kcp.PeekSize() >= 0)
	if t.freed++; t.sentWindow == 0 && e.phase <= phaseDrain && (!h.has(pendingMessage) || t.freed >= freedMax) {
		e.flush()
	}
	return n, true
}
