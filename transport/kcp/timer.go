package kcp

import (
	"slices"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
)

const (
	// A ping without a pong is repeated every pingEvery, up to pingRepeats times, or until the host's next ping. At
	// 20 % loss in each direction, one ping in two hundred thousand stays unanswered. If nothing has arrived since the
	// previous ping, a ping is repeated only pingRepeatsGone times, because many peers may be gone at once.
	pingEvery       = 250 * time.Millisecond
	pingRepeats     = 11
	pingRepeatsGone = 1
)

// timer is the only timer of a connection, and the times at which it may have to fire. A time is never if nothing is due.
type timer struct {
	armed time.Duration
	entry entry // position in the clock's queue

	ack    time.Duration // delayed acks
	resend time.Duration // KCP's next resend
	probe  time.Duration // loss probe
	ping   time.Duration // repetition of the ping
	phase  time.Duration // next step of closing

	patience patience
}

func (t *timer) reset() {
	t.armed = never
	t.patience.at = never
	t.rest()
}

// rest sets all due times to never.
func (t *timer) rest() {
	t.ack, t.resend, t.probe, t.ping, t.phase = never, never, never, never, never
}

// pendingPing is the last ping, which is repeated until it is answered.
type pendingPing struct {
	frame []byte        // type and payload; the slice is reused
	left  int           // repetitions left
	at    time.Duration // when it was sent first
}

// due returns when the timer must fire.
func (e *engine) due() time.Duration {
	t := &e.timer
	return min(t.ack, t.phase, max(t.patience.until, e.missed()))
}

// stalled returns when the connection ends because the peer acknowledges nothing.
func (e *engine) stalled() time.Duration {
	if e.phase > phaseDrain || e.kcp.WaitSnd() == 0 {
		return never
	}
	return e.sending.progressAt + e.set.writeTimeout
}

// silent returns when the connection ends because nothing was received.
func (e *engine) silent() time.Duration {
	if e.phase > phaseDrain || e.set.silenceMax == 0 {
		return never
	}
	return e.receiving.heardAt + e.set.silenceMax
}

// peerCheck finds out whether a silent peer still exists. If stallMax is set, it sends empty pings after some
// silence, and ends the connection if the peer answers none. It counts pings rather than time, so a process that
// was suspended still sends the remaining pings first.
type peerCheck struct {
	sent int // pings since something was received
	at   time.Duration
}

const (
	checkSilence = 5  // the first ping follows a silence of stallMax/checkSilence
	checksMax    = 14 // at 20 % loss in each direction, one check in a million fails
)

// checkDue returns when the next ping of the check is due. After the last ping it returns when the connection ends.
func (e *engine) checkDue() time.Duration {
	silence := e.set.stallMax / checkSilence
	switch {
	case e.phase > phaseDrain || e.set.stallMax == 0:
		return never
	case e.check.sent == 0:
		return e.receiving.heardAt + silence
	}
	return e.check.at + (e.set.stallMax-silence)/checksMax
}

// checkPeer sends the next ping of the check. It returns false if all have been sent.
func (e *engine) checkPeer() bool {
	if e.check.sent == checksMax {
		return false
	}
	e.check.sent++
	e.check.at = e.now
	e.write(emptyPing)
	return true
}

var emptyPing = []byte{byte(framePing)}

// arm makes the timer fire in time. It does not change a timer that is set too early: one firing for nothing costs less
// than a reset per message.
func (e *engine) arm() {
	t, due := &e.timer, e.due()
	switch {
	case due == never:
		if t.armed != never {
			e.set.clock.stop(e)
			t.armed = never
		}
	case due < t.armed:
		t.armed = due
		e.set.clock.set(e, due-e.now)
	}
}

func (e *engine) onTimer() {
	e.lock()
	e.guarded(e.fire)
	e.leave()
}

// lateMax is how late the timer may fire before that counts as a pause of this process.
const lateMax = time.Second

// excuse extends the peer's write timeout by the time that this process was paused. The peer's acks may still be
// unread in the socket (reliability.md 2.7).
func (e *engine) excuse() {
	if late := e.now - e.timer.armed; late > lateMax {
		e.sending.progressAt = min(e.sending.progressAt+late, e.now)
	}
}

// fire does everything that is due.
func (e *engine) fire() {
	e.excuse()
	t := &e.timer
	t.armed = never
	patient := e.phase <= phaseDrain && e.isPatient()
	switch {
	case patient:
	case e.now >= e.stalled():
		e.startClose(messages.CloseWriteTimeout, errStalled, false)
	case e.now >= e.silent(), e.now >= e.checkDue() && !e.checkPeer():
		e.endNow(errSilent)
	}
	if e.phase <= phaseDrain {
		e.fireTraffic(patient)
	}
	if e.now >= t.phase {
		e.onPhaseTimer()
	}
}

// fireTraffic sends what is due. If patient is true, it sends only acks.
func (e *engine) fireTraffic(patient bool) {
	t := &e.timer
	if patient {
		if e.now >= t.ack {
			e.flushAcks()
		}
		return
	}
	if e.now >= t.ack || e.now >= t.resend {
		e.flushDue()
	}
	if e.now >= t.probe {
		e.probe()
	}
	if e.now >= t.ping {
		e.repeatPing()
	}
}

// startPing sends a ping, which replaces the previous one, and repeats it until it is answered.
func (e *engine) startPing(payload []byte) {
	p := &e.ping
	p.frame = append(append(p.frame[:0], byte(framePing)), payload[:min(len(payload), controlMax)]...)
	p.left = pingRepeats
	if p.at > e.receiving.heardAt {
		p.left = pingRepeatsGone
	}
	e.timer.ping = e.now + pingEvery
	p.at = e.now
	e.write(p.frame)
}

func (e *engine) repeatPing() {
	e.ping.left--
	e.timer.ping = e.now + pingEvery
	if e.ping.left == 0 {
		e.timer.ping = never
	}
	e.write(e.ping.frame)
}

// onPing answers a ping with the same bytes.
func (e *engine) onPing(payload []byte) {
	if len(payload) > controlMax {
		e.drop(counters.SegmentMalformed)
		return
	}
	e.lock()
	if e.phase <= phaseBye && e.receiving.mayAnswer(e.now) {
		d := datagrams.Get().(*datagram)
		d[0] = byte(framePong)
		e.write(d[:1+copy(d[1:], payload)])
		datagrams.Put(d)
	}
	e.heard()
	e.leave()
}

// At most answersMax pings and window requests are answered per answersPer. An answer costs more than the
// request, and delays the reading for other peers.
const (
	answersMax = 16
	answersPer = 200 * time.Millisecond
)

// mayAnswer counts a request and reports whether to answer it.
func (r *receiving) mayAnswer(now time.Duration) bool {
	if now-r.answersFrom >= answersPer {
		r.answersFrom, r.answers = now, 0
	}
	r.answers++
	return r.answers <= answersMax
}

// onPong stops the repetition of the answered ping, and passes the pong to the owner.
func (e *engine) onPong(payload []byte) {
	if len(payload) > controlMax {
		e.drop(counters.SegmentMalformed)
		return
	}
	e.lock()
	e.receiving.heardAt, e.check.sent = e.now, 0
	if len(e.ping.frame) > 0 && slices.Equal(payload, e.ping.frame[1:]) {
		e.timer.ping = never
	}
	if e.set.wantsAlive {
		e.handover.pong = append(e.handover.pong[:0], payload...)
		e.handover.set(pendingPong, true)
	}
	e.leave()
}
