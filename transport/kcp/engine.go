package kcp

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rs/zerolog"
	kcpgo "github.com/xtaci/kcp-go/v5"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

const (
	// windowSegments is KCP's window in each direction, in segments of about 1.2 KB.
	windowSegments = 128
	// pendingSegments is the receive window before the login, and the send window until the peer has told its own: twice as many
	// buffers of 1500 bytes are the most that KCP holds for a peer without a login.
	pendingSegments = 16

	// MessageMax is the largest message in either direction, in bytes: one window.
	MessageMax = windowSegments * segmentDataMax
)

// never is the due time of something that is not due.
const never = time.Duration(math.MaxInt64)

// owner is the Conn or Stream on an engine.
type owner interface {
	// refill puts queued messages into the engine while it has room, and reports whether there may be more. The lock is held.
	refill() (more bool)
	// ending is called once, before onClosed, with the lock held: from then on only a drain calls refill.
	ending()
	// onMessage, onAlive and onClosed (once, last) are called one at a time and may wait. The bytes are valid during the call.
	onMessage(message []byte)
	onAlive(pong []byte)
	onClosed(end ended)
	// onDatagram is called by the carrier's reader and must not wait.
	onDatagram(b []byte)
}

// settings are the differences between host and client.
type settings struct {
	count         *counters.Set
	log           zerolog.Logger
	writeTimeout  time.Duration
	closeLinger   time.Duration
	silenceMax    time.Duration // without any record from the peer; 0: no limit
	stallMax      time.Duration // the same with a peerCheck; 0: no peerCheck
	receiveWindow int
	messageMax    int
	wantsAlive    bool // call owner.onAlive
	workers       *workerPool
	clock         *clock
}

// engine is one connection: KCP, the frames around it, and its timer. What changes it runs between lock and leave: methods that
// do not call lock expect it to be held. engine implements dtls.Handler and wire.Sink.
type engine struct {
	// set once
	carrier Carrier
	owner   owner
	set     settings
	start   time.Time
	handUp  func() // deliver, bound once, so that it allocates nothing

	mu  sync.Mutex
	now time.Duration // since start, when the lock was taken

	phase     phase
	ending    ending
	kcp       *kcpgo.KCP
	sending   sending
	receiving receiving
	handover  handover
	timer     timer
	ping      pendingPing
	check     peerCheck
}

type sending struct {
	backlog     bool   // the owner may have more messages
	oversize    bool   // the owner had a message that is too large for KCP
	windowKnown bool   // the peer has told its window
	window      uint16 // the peer's, in segments
	next        uint32 // number of the first segment that was never sent
	input       inputState
	held        heldAcks
	probe       lossProbe
	unanswered  int           // resends since the peer was found to acknowledge nothing
	resentAt    time.Duration // when the last of them was
	ackedAt     time.Duration // when something was acknowledged, or the first unacknowledged data was queued
	progressAt  time.Duration // when the peer last acknowledged something, or the first unacknowledged data was queued
	rtt         rtt
	clock       uint32 // KCP's clock minus ours, in milliseconds
}

// inputState says whether KCP is processing a datagram. Acks that it sends meanwhile are held.
type inputState uint8

const (
	inputIdle inputState = iota
	inputRunning
	inputSent // running, and a packet has been written since it began
)

// heldAcks is a data frame of acks that waits for data to ride with.
type heldAcks struct {
	d  *datagram // nil: none
	to int
}

// lossProbe is a copy of the last data frame, for the case that its acks do not come.
type lossProbe struct {
	d        *datagram // nil with nothing in flight
	from, to int       // the part to be sent again: type and segments, without acks before the first segment with data
	pushes   int       // segments with data in it
	sent     bool      // it was sent again since the last ack
}

type receiving struct {
	window      int    // segments that KCP holds for us
	messageMax  int    // bytes
	next        uint32 // number of the next new segment
	sentUna     uint32 // the una and window that the peer was sent last
	sentWindow  uint16
	gap         bool // when they were sent, segments were missing or waited for room
	freed       int  // messages handed up since the last flush
	acks        int  // segments to be acknowledged
	heardAt     time.Duration
	answers     int // pings and window questions of the peer since answersFrom
	answersFrom time.Duration
}

func newEngine(carrier Carrier, set settings) *engine {
	e := &engine{carrier: carrier, set: set, start: time.Now(), phase: phaseOpen}
	e.handUp = e.deliver
	set.workers.join()
	e.timer.reset()
	e.receiving.window, e.receiving.messageMax = set.receiveWindow, set.messageMax
	e.handover.aliveAt = -aliveEvery
	e.sending.window = pendingSegments
	e.kcp = kcpgo.NewKCP(conversation, e.output)
	e.kcp.NoDelay(1, 10, 2, 1)
	e.kcp.SetMtu(packetMax)
	e.kcp.WndSize(pendingSegments, set.receiveWindow)
	return e
}

// lock takes the lock and the time.
func (e *engine) lock() {
	e.mu.Lock()
	e.now = time.Since(e.start)
}

// leave acts on the changes since lock and unlocks. Then it starts the handover and closes the carrier, if due.
func (e *engine) leave() {
	if e.phase <= phaseDrain {
		e.guarded(e.afterUpdate)
	}
	deliver := !e.handover.running && e.hasDelivery()
	if deliver {
		e.handover.running = true
	}
	closeCarrier := e.phase == phaseEnded && !e.ending.carrierClosed
	e.ending.carrierClosed = e.ending.carrierClosed || closeCarrier
	e.arm()
	e.mu.Unlock()
	if deliver {
		e.set.workers.do(e.handUp)
	}
	if closeCarrier {
		e.carrier.Close()
	}
}

// afterUpdate acts on the state of KCP after a change.
func (e *engine) afterUpdate() {
	if e.sending.oversize {
		e.startClose(messages.CloseInternalError, errOversize, false)
		return
	}
	if e.kcp.WaitSnd() > 0 {
		return
	}
	e.timer.resend, e.timer.probe = never, never
	e.sending.probe.forget()
	if e.phase == phaseDrain && !e.sending.backlog {
		e.sayBye()
	}
}

// OnRecord implements dtls.Handler.
func (e *engine) OnRecord(plain []byte) {
	if len(plain) == 0 {
		e.drop(counters.SegmentFrame)
		return
	}
	body := plain[1:]
	switch frameType(plain[0]) {
	case frameData:
		e.onData(body)
	case frameFast:
		e.onFast(body)
	case framePing:
		e.onPing(body)
	case framePong:
		e.onPong(body)
	case frameBye:
		e.onBye(body)
	case frameByeAck:
		e.onByeAck()
	default:
		e.drop(counters.SegmentFrame)
	}
}

// OnClosed implements dtls.Handler: the carrier has ended.
func (e *engine) OnClosed(err error) {
	if err == nil {
		err = errCarrier
	}
	e.lock()
	e.ending.carrierClosed = true
	e.endNow(err)
	e.leave()
}

var errCarrier = errors.New("kcp: the association ended")

func (e *engine) drop(why counters.RecordDrop) { e.set.count.Records.Add(why, 1) }

// heard notes a sign of life. Of other records than messages the owner is told at most every aliveEvery.
func (e *engine) heard() {
	e.receiving.heardAt, e.check.sent = e.now, 0
	if e.phase <= phaseDrain && e.backsOff() { // not from a peer that is gone: it may be this side's path that is back
		e.timer.resend = min(e.timer.resend, max(e.sending.resentAt+backOffMin, e.now))
	}
	h := &e.handover
	if e.set.wantsAlive && !h.muted && !h.has(pendingMessage) && e.now-h.aliveAt >= aliveEvery {
		h.set(pendingAlive, true)
	}
}

// onFast hands up an unreliable datagram at once.
func (e *engine) onFast(body []byte) {
	e.lock()
	e.heard()
	open := e.phase == phaseOpen
	e.leave()
	if !open {
		return
	}
	defer transport.Rescue(e.set.count, &e.set.log, "KCP handler", e.panicked)
	e.owner.onDatagram(body)
}

func (e *engine) panicked(p any) {
	e.lock()
	e.startClose(messages.CloseInternalError, fmt.Errorf("%w: %v", errPanicked, p), false)
	e.leave()
}

// guarded runs a part of the engine, with the lock held. A panic ends the connection.
func (e *engine) guarded(turn func()) {
	defer transport.Rescue(e.set.count, &e.set.log, "KCP", func(p any) {
		e.handover.muted = true
		if err := fmt.Errorf("%w: %v", errPanicked, p); e.phase <= phaseDrain {
			e.startClose(messages.CloseInternalError, err, false)
		} else {
			e.endNow(err)
		}
	})
	turn()
}

// write sends one datagram. One that the carrier refuses is lost, as on the network.
func (e *engine) write(b []byte) bool {
	if !e.carrier.Write(b) {
		return false
	}
	e.set.count.Writes.Add(counters.KCP, 1)
	e.set.count.BytesOut.Add(counters.KCP, int64(len(b)))
	return true
}

// Append implements wire.Sink.
func (e *engine) Append(f *wire.Frame) (room bool) {
	e.put(f.Unit())
	return e.room()
}

// AppendNumbered implements wire.Sink.
func (e *engine) AppendNumbered(f *wire.Frame, relSeq, ack uint64) (room bool) {
	buf := takeBuffer(f.Len() + wire.NumbersMax)
	defer giveBuffer(buf)
	e.put(f.AppendNumbered(buf.b[:0], relSeq, ack))
	return e.room()
}

// Mark implements wire.Sink: it takes no marks, because pongs overtake messages.
func (e *engine) Mark(uint64) bool { return false }
