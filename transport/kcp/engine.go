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
	// pendingSegments is the receive window before the login, and the send window until the peer has announced its own.
	// So KCP holds at most 2*pendingSegments buffers of 1500 bytes for a peer without a login.
	pendingSegments = 16

	// MessageMax is the largest message in either direction, in bytes. It fills one window.
	MessageMax = windowSegments * segmentDataMax
)

// never is the due time of something that is not due.
const never = time.Duration(math.MaxInt64)

// owner is the Conn or Stream that uses an engine.
type owner interface {
	// refill moves queued messages into the engine while it has room, and reports whether
	// there may be more. The engine's lock is held.
	refill() (more bool)
	// ending is called once, before onClosed, with the engine's lock held. After it, refill is
	// called only to drain the queue in phaseDrain.
	ending()
	// onMessage, onAlive and onClosed are called one at a time and may block. onClosed is called once, as the last of
	// them. The bytes are valid only during the call.
	onMessage(message []byte)
	onAlive(pong []byte)
	onClosed(end ended)
	// onDatagram is called by the carrier's reader and must not block.
	onDatagram(b []byte)
}

// settings are the differences between host and client.
type settings struct {
	count         *counters.Set
	log           zerolog.Logger
	writeTimeout  time.Duration
	closeLinger   time.Duration
	silenceMax    time.Duration // longest time without any record from the peer; 0 for no limit
	stallMax      time.Duration // the same limit while peerCheck pings; 0 disables peerCheck
	receiveWindow int
	messageMax    int
	wantsAlive    bool // call owner.onAlive
	workers       *workerPool
	clock         *clock
}

// engine is one connection: KCP, its framing and its timer. State changes only between lock and leave. Methods that do
// not call lock expect the caller to hold it. engine implements dtls.Handler and wire.Sink.
type engine struct {
	// set once
	carrier Carrier
	owner   owner
	set     settings
	start   time.Time
	handUp  func() // deliver, bound once to avoid an allocation per use

	mu  sync.Mutex
	now time.Duration // time since start at the last call of lock

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
	windowKnown bool   // the peer has announced its window
	window      uint16 // the peer's receive window, in segments
	next        uint32 // number of the first segment that has not been sent yet
	input       inputState
	held        heldAcks
	probe       lossProbe
	unanswered  int           // number of resends while backing off since the last ack
	resentAt    time.Duration // when the resend timer was last handled
	ackedAt     time.Duration // when an ack last arrived, or the first unacknowledged data was queued
	progressAt  time.Duration // when KCP.WaitSnd last decreased, or the first unacknowledged data was queued
	rtt         rtt
	clock       uint32 // offset of KCP's clock from the engine's, in milliseconds
}

// inputState says whether KCP's Input is running. Acks that KCP sends while it runs are held.
type inputState uint8

const (
	inputIdle inputState = iota
	inputRunning
	inputSent // running, and a packet was written since it began
)

// heldAcks is a data frame that contains only acks. It is sent together with the next data.
type heldAcks struct {
	d  *datagram // nil if no acks are held
	to int
}

// lossProbe is a copy of the last data frame. It is sent again if no acks arrive.
type lossProbe struct {
	d        *datagram // nil if nothing is in flight
	from, to int       // the part that is sent again: the type, and the segments from the first data segment on
	pushes   int       // number of data segments in it
	sent     bool      // the frame was sent again since the last ack
}

type receiving struct {
	window      int    // this side's receive window, in segments
	messageMax  int    // largest accepted message, in bytes
	next        uint32 // number of the next new segment
	sentUna     uint32 // sentUna and sentWindow are the una and window last sent to the peer
	sentWindow  uint16
	gap         bool // sentUna was below next when it was sent: segments were missing, or had no room
	freed       int  // messages handed up since the last flush
	acks        int  // received data segments that are not acknowledged yet
	heardAt     time.Duration
	answers     int // pings and window requests of the peer since answersFrom
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

// lock takes the mutex and sets now.
func (e *engine) lock() {
	e.mu.Lock()
	e.now = time.Since(e.start)
}

// leave acts on the changes since lock and unlocks. Then, if due, it starts the handover goroutine and closes the carrier.
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

// afterUpdate acts on KCP's state after a change. It closes the connection after an oversize message, and stops the
// resend timers once everything is acknowledged.
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

// heard records that a record has arrived from the peer. If it is not a message, the owner is notified at most once per aliveEvery.
func (e *engine) heard() {
	e.receiving.heardAt, e.check.sent = e.now, 0
	// This record shows that the peer is not gone. Perhaps only the path to it was broken and works again: resend soon.
	if e.phase <= phaseDrain && e.backsOff() {
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

// guarded calls turn with the lock held. A panic ends the connection.
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

// write sends one datagram. A datagram that the carrier refuses is treated as lost on the network.
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

// Mark implements wire.Sink. It refuses all marks, because pongs overtake messages.
func (e *engine) Mark(uint64) bool { return false }
