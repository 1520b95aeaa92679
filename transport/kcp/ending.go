package kcp

import (
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
)

const (
	// A bye is repeated every byeEvery until it is acknowledged, for at most byeMax. If the peer has acknowledged nothing
	// for long (backsOff), each interval is twice the previous one. This side answers repeated byes of the peer for byeMax.
	byeEvery = 100 * time.Millisecond
	byeMax   = time.Second
)

// phase is the progress of closing a connection. It never decreases.
type phase uint8

const (
	phaseOpen    phase = iota + 1
	phaseDrain         // this side closes: queued messages are sent first
	phaseBye           // bye is repeated until it is acknowledged
	phasePeerBye       // the peer has sent a bye: repeated ones are answered
	phaseEnded         // the carrier is closed, or leave is about to close it
)

// Errors that end a connection.
var (
	errTooBig   = errors.New("kcp: the peer's message is too large")
	errOversize = fmt.Errorf("kcp: a message over %d bytes cannot be sent", MessageMax)
	errProtocol = errors.New("kcp: the peer broke the protocol")
	errPanicked = errors.New("kcp: handler panicked")
	errStalled  = fmt.Errorf("kcp: the peer acknowledges nothing: %w", os.ErrDeadlineExceeded)
	errSilent   = fmt.Errorf("kcp: nothing comes from the peer: %w", os.ErrDeadlineExceeded)
)

// byeAck is a complete byeAck frame.
var byeAck = []byte{byte(frameByeAck)}

type ending struct {
	bye           []byte        // the bye of this side; nil until it closes
	until         time.Duration // when this side stops repeating the bye
	byeWait       time.Duration // interval until the next repetition
	report        endReport
	carrierClosed bool // the carrier is closed or being closed
	end           ended
}

// endReport says how much of the end was reported to the owner. It never decreases.
type endReport uint8

const (
	endUnknown   endReport = iota
	endAnnounced           // owner.ending was called
	endFinal               // ending.end is final; owner.onClosed is due
	endReported            // owner.onClosed was called, or is about to be
)

// ended says how a connection ended.
type ended struct {
	peerSaid bool // the peer has sent a bye
	code     uint16
	text     string
	ours     messages.CloseReason // the first close reason of this side; 0 if it has not closed
	err      error                // nil after a bye of either side
}

// startClose closes the connection from this side. With drain, it first sends the queued messages. Only the first
// reason counts. err is nil for an orderly close.
func (e *engine) startClose(reason messages.CloseReason, err error, drain bool) {
	if e.phase >= phaseBye || e.phase == phaseDrain && drain {
		return
	}
	if e.ending.bye == nil {
		e.ending.bye = appendBye(nil, uint16(reason), reason.String())
		e.ending.end.ours, e.ending.end.err = reason, err
	}
	e.handover.muted = true
	e.announceEnd()
	if !drain {
		e.sayBye()
		return
	}
	e.phase = phaseDrain
	e.timer.phase = e.now + e.set.closeLinger
	e.push() // afterUpdate sends the bye once nothing is left
}

func (e *engine) announceEnd() {
	if e.ending.report < endAnnounced {
		e.ending.report = endAnnounced
		e.owner.ending()
	}
}

// sayBye stops the traffic and sends the first bye.
func (e *engine) sayBye() {
	e.stop(phaseBye)
	e.ending.until = e.now + byeMax
	e.ending.byeWait = byeEvery
	e.timer.phase = e.now + byeEvery
	e.write(e.ending.bye)
}

// stop ends all traffic. Messages that KCP has already received are still handed up.
func (e *engine) stop(p phase) {
	e.phase = p
	e.timer.rest()
	e.sending.probe.forget()
	e.announceEnd()
}

// onPhaseTimer performs the next step of closing.
func (e *engine) onPhaseTimer() {
	switch {
	case e.phase == phaseDrain:
		e.sayBye()
	case e.phase == phaseBye && e.now < e.ending.until:
		if e.backsOff() {
			e.ending.byeWait *= 2
		}
		e.timer.phase = min(e.now+e.ending.byeWait, e.ending.until)
		e.write(e.ending.bye)
	default:
		e.endNow(nil)
	}
}

// finish records, once, how the connection ended. The handover goroutine reports the end after all messages received before.
func (e *engine) finish(err error) {
	if e.ending.report >= endFinal {
		return
	}
	e.stop(e.phase)
	e.ending.report = endFinal
	if e.ending.end.err == nil {
		e.ending.end.err = err
	}
}

// endNow ends the connection at once. The next leave closes the carrier.
func (e *engine) endNow(err error) {
	e.finish(err)
	e.stop(phaseEnded)
}

// onBye handles the peer's bye. The peer no longer reads, so queued messages are not sent.
func (e *engine) onBye(body []byte) {
	code, text, ok := parseBye(body)
	if !ok {
		e.drop(counters.SegmentMalformed)
		return
	}
	e.lock()
	defer e.leave()
	if e.phase == phaseEnded {
		return
	}
	e.write(byeAck)
	if e.phase == phasePeerBye {
		return
	}
	end := &e.ending.end
	end.peerSaid, end.code, end.text = true, code, text
	e.finish(nil)
	e.phase = phasePeerBye
	e.timer.phase = e.now + byeMax
}

func (e *engine) onByeAck() {
	e.lock()
	if e.phase == phaseBye {
		e.endNow(nil)
	}
	e.leave()
}

// abort ends a connection without a bye.
func (e *engine) abort(err error) {
	e.lock()
	e.handover.muted = true
	e.endNow(err)
	e.leave()
}
