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
	// byeEvery and byeMax are how often, and how long, a bye is repeated that is
	// not acknowledged, and how long repeated ones are answered.
	byeEvery = 100 * time.Millisecond
	byeMax   = time.Second
)

// phase is how far a connection is on its way out. It only rises.
type phase uint8

const (
	phaseOpen    phase = iota + 1
	phaseDrain         // this side closes: what is queued goes first
	phaseParting       // bye is said until it is acknowledged
	phaseTold          // the peer said bye: repeated ones are answered
	phaseEnded         // the carrier is to be closed
)

// Why a connection ends that neither side wanted to end.
var (
	errTooBig   = errors.New("kcp: the peer's message is too large")
	errOversize = fmt.Errorf("kcp: a message over %d bytes cannot be sent", MessageMax)
	errProtocol = errors.New("kcp: the peer broke the protocol")
	errPanicked = errors.New("kcp: handler panicked")
	errStalled  = fmt.Errorf("kcp: the peer acknowledges nothing: %w", os.ErrDeadlineExceeded)
	errSilent   = fmt.Errorf("kcp: nothing comes from the peer: %w", os.ErrDeadlineExceeded)
)

// The codes this side says for them.
const (
	closeTooBig   = messages.CloseMessageTooBig
	closeOversize = messages.CloseInternalError
	closeProtocol = messages.CloseProtocolError
	closePanicked = messages.CloseInternalError
	closeStalled  = messages.CloseWriteTimeout
)

// byeAck is the whole frame.
var byeAck = []byte{byte(frameByeAck)}

// malformedControl is what a ping, pong or bye of a wrong length counts as.
const malformedControl = counters.SegmentMalformed

// ending is what is known of a connection's end.
type ending struct {
	bye      []byte        // what this side says; nil until it parts
	until    time.Duration // when it stops saying it
	shut     bool          // the carrier is closed, or being closed
	notified bool          // the owner knows that it ends
	over     bool          // end is final
	told     bool          // the owner has it, or is getting it
	end      ended
}

// ended says how a connection ended.
type ended struct {
	peerSaid bool // bye
	code     uint16
	text     string
	ours     messages.CloseReason // what this side said first, 0 if it said nothing
	err      error                // nil after a bye of either side
}

// part begins the end from this side: with the queue first, or without it. Only
// the first reason counts. Err is why it is no goodbye, nil if it is one.
func (e *engine) part(reason messages.CloseReason, err error, drain bool) {
	if e.phase >= phaseParting || e.phase == phaseDrain && drain {
		return
	}
	if e.ending.bye == nil {
		e.ending.bye = appendBye(nil, uint16(reason), reason.String())
		e.ending.end.ours, e.ending.end.err = reason, err
	}
	e.taking.muted = true
	e.notify()
	if !drain {
		e.sayBye()
		return
	}
	e.phase = phaseDrain
	e.timer.phase = e.now + e.set.closeLinger
	e.push() // leave says bye once nothing is left
}

// notify tells the owner that the end has begun.
func (e *engine) notify() {
	if !e.ending.notified {
		e.ending.notified = true
		e.owner.ending()
	}
}

// sayBye ends the traffic and says bye for the first time.
func (e *engine) sayBye() {
	e.stop(phaseParting)
	e.ending.until = e.now + byeMax
	e.timer.phase = e.now + byeEvery
	e.write(e.ending.bye)
}

// stop ends the traffic: from here on KCP only hands up what it has.
func (e *engine) stop(p phase) {
	e.phase = p
	e.timer.rest()
	e.forgetLast()
	e.notify()
}

// onPhaseTimer takes the next step of the end.
func (e *engine) onPhaseTimer() {
	switch {
	case e.phase == phaseDrain:
		e.sayBye()
	case e.phase == phaseParting && e.now < e.ending.until:
		e.timer.phase = e.now + byeEvery
		e.write(e.ending.bye)
	default:
		e.endNow(nil)
	}
}

// finish settles how the connection ended; the owner is told by the goroutine
// that hands up, after what has arrived. Only the first call counts.
func (e *engine) finish(err error) {
	if e.ending.over {
		return
	}
	e.stop(e.phase)
	e.ending.over = true
	if e.ending.end.err == nil {
		e.ending.end.err = err
	}
}

// endNow ends everything; leave closes the carrier.
func (e *engine) endNow(err error) {
	e.finish(err)
	e.stop(phaseEnded)
}

// onBye is the peer's goodbye. What is queued for it is not sent any more: it
// has stopped listening.
func (e *engine) onBye(body []byte) {
	code, text, ok := parseBye(body)
	if !ok {
		e.drop(malformedControl)
		return
	}
	e.lock()
	defer e.leave()
	if e.phase == phaseEnded {
		return
	}
	e.write(byeAck)
	if e.phase == phaseTold {
		return
	}
	end := &e.ending.end
	end.peerSaid, end.code, end.text = true, code, text
	e.finish(nil)
	e.phase = phaseTold
	e.timer.phase = e.now + byeMax
}

// onByeAck ends a connection whose goodbye was heard.
func (e *engine) onByeAck() {
	e.lock()
	if e.phase == phaseParting {
		e.endNow(nil)
	}
	e.leave()
}

// abort ends a connection without a word.
func (e *engine) abort(err error) {
	e.lock()
	e.taking.muted = true
	e.endNow(err)
	e.leave()
}
