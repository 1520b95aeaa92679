package kcp

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rs/zerolog"
	kcpgo "github.com/xtaci/kcp-go/v5"

	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

const (
	// windowSegments is KCP's window in each direction, in segments of about 1.2 KB.
	windowSegments = 128
	// pendingSegments is the receive window before the login, and the send window
	// until the peer has told its own: a peer without a login makes KCP hold twice
	// as many buffers of 1500 bytes at most.
	pendingSegments = 16

	// MessageMax is the largest message in either direction, in bytes: one window.
	MessageMax = windowSegments * segmentDataMax
)

// never is when something that is not due is due.
const never = time.Duration(math.MaxInt64)

// owner is the Conn or Stream on an engine.
type owner interface {
	// refill puts what is queued into the engine while it has room, and reports
	// whether something may be left. The engine's lock is held.
	refill() (more bool)
	// ending tells that nothing more is taken from it, except that a drain goes on.
	// Called once, first. The engine's lock is held.
	ending()
	// onMessage, onAlive and onClosed are called one at a time and may wait. The
	// bytes are valid during the call. OnClosed is called once, last.
	onMessage(message []byte)
	onAlive(pong []byte)
	onClosed(end ended)
	// onDatagram is called by the carrier's reader and must not wait.
	onDatagram(b []byte)
}

// settings are what differs between the two sides.
type settings struct {
	count         *counters.Set
	log           zerolog.Logger
	writeTimeout  time.Duration
	closeLinger   time.Duration
	silenceMax    time.Duration // 0: for ever
	stallMax      time.Duration // of a peer that is asked; 0: it is never asked
	receiveWindow int
	messageMax    int
	wantsAlive    bool // onAlive is worth a call
	workers       *workerPool
}

// engine is one connection: KCP, the frames around it, and its timer. Every
// method that changes it runs between lock and leave; what those do not mention
// expects that. It implements dtls.Handler and wire.Sink.
type engine struct {
	// set once
	carrier Carrier
	owner   owner
	set     settings
	start   time.Time
	handUp  func() // deliver, bound once, so that it allocates nothing

	mu  sync.Mutex
	now time.Duration // since start, when the lock was taken

	phase   phase
	ending  ending
	kcp     *kcpgo.KCP
	sending sending
	taking  taking
	timer   timer
	ping    keepAlive

	looks    int // questions since something was heard
	lookedAt time.Duration
}

// sending is the state of the way out.
type sending struct {
	backlog    bool      // the owner may have more
	oversize   bool      // the owner had a message that KCP does not take
	next       uint32    // number of the first segment that was never sent
	window     uint16    // the peer's
	windowTold bool      // the peer has told it
	flushed    bool      // something went out since it was last reset
	inputting  bool      // KCP takes a datagram in: acks that it lets go are held
	held       *datagram // a data frame of acks that wait for data to ride with; nil without
	heldTo     int
	progressAt time.Duration // when the peer last acknowledged, or data began to wait for it
	rtt        rtt
	clock      uint32    // what KCP's clock is ahead of ours, in milliseconds
	last       *datagram // the last data frame, for the probe; nil with nothing in flight
	lastFrom   int       // where its type belongs, before its first segment with data
	lastTo     int
	lastPushes int
	probed     bool // since the last ack
}

// taking is the state of the way in.
type taking struct {
	window     int    // segments KCP holds for us
	messageMax int    // bytes
	next       uint32 // number of the next new segment
	toldUna    uint32 // what we told the peer last
	toldWindow uint16
	freed      int  // messages handed up since
	hole       bool // segments are missing, or wait for room
	acks       int  // segments to be acknowledged
	muted      bool // this side closes: messages are not handed up
	delivering bool // the goroutine exists
	readable   bool // KCP has a message for us
	alive      bool // a sign of life to be passed on
	aliveAt    time.Duration
	heardAt    time.Duration
	asked      int // questions of the peer since askedFrom
	askedFrom  time.Duration
	pong       []byte // room for one payload, nil until the first
	ponged     bool   // it holds one
}

func newEngine(carrier Carrier, set settings) *engine {
	e := &engine{carrier: carrier, set: set, start: time.Now(), phase: phaseOpen}
	e.handUp = e.deliver
	set.workers.join()
	e.timer.reset()
	e.taking.window, e.taking.messageMax = set.receiveWindow, set.messageMax
	e.taking.aliveAt = -aliveEvery
	e.sending.window = pendingSegments
	e.kcp = kcpgo.NewKCP(conversation, e.output)
	e.kcp.NoDelay(1, 10, 2, 1)
	e.kcp.SetMtu(packetMax)
	e.kcp.WndSize(pendingSegments, set.receiveWindow)
	return e
}

// lock begins a turn.
func (e *engine) lock() {
	e.mu.Lock()
	e.now = time.Since(e.start)
}

// leave ends a turn: it draws the conclusions, arms the timer, and does what must
// be done without the lock.
func (e *engine) leave() {
	if e.phase <= phaseDrain {
		e.guarded(e.afterUpdate)
	}
	deliver := !e.taking.delivering && e.hasDelivery()
	if deliver {
		e.taking.delivering = true
	}
	shut := e.phase == phaseEnded && !e.ending.shut
	e.ending.shut = e.ending.shut || shut
	e.arm()
	e.mu.Unlock()
	if deliver {
		e.set.workers.do(e.handUp)
	}
	if shut {
		e.carrier.Close()
	}
}

// afterUpdate acts on the state of KCP after input or output.
func (e *engine) afterUpdate() {
	if e.sending.oversize {
		e.part(closeOversize, errOversize, false)
		return
	}
	if e.kcp.WaitSnd() > 0 {
		return
	}
	e.timer.resend, e.timer.probe = never, never
	e.forgetLast()
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
	e.ending.shut = true
	e.endNow(err)
	e.leave()
}

var errCarrier = errors.New("kcp: the association ended")

func (e *engine) drop(why counters.RecordDrop) { e.set.count.Records.Add(why, 1) }

// heard notes that the peer lives. Messages say so themselves when they are
// handed up; other records are passed on now and then.
func (e *engine) heard() {
	t := &e.taking
	t.heardAt, e.looks = e.now, 0
	if e.set.wantsAlive && !t.muted && !t.readable && e.now-t.aliveAt >= aliveEvery {
		t.alive = true
	}
}

// onFast hands an unreliable datagram up at once.
func (e *engine) onFast(body []byte) {
	e.lock()
	e.heard()
	open := e.phase == phaseOpen
	e.leave()
	if !open {
		return
	}
	defer e.recovered()
	e.owner.onDatagram(body)
}

// recovered is deferred around calls of the layer above: its panic is a bug that
// costs this one connection.
func (e *engine) recovered() {
	p := recover()
	if p == nil {
		return
	}
	transport.Panicked(e.set.count, &e.set.log, "KCP handler", p)
	e.lock()
	e.part(closePanicked, fmt.Errorf("%w: %v", errPanicked, p), false)
	e.leave()
}

// guarded runs a turn, or a part of one, in which a panic costs the connection and
// leaves no lock behind. The lock is held.
func (e *engine) guarded(turn func()) {
	defer func() {
		if p := recover(); p != nil {
			transport.Panicked(e.set.count, &e.set.log, "KCP", p)
			e.taking.muted = true
			if err := fmt.Errorf("%w: %v", errPanicked, p); e.phase <= phaseDrain {
				e.part(closePanicked, err, false)
			} else {
				e.endNow(err)
			}
		}
	}()
	turn()
}

// write sends one datagram. What the carrier does not take is lost, as it could
// be on the way.
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

// Mark implements wire.Sink: pings are not in order with messages here.
func (e *engine) Mark(uint64) bool { return false }
