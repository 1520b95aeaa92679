package kcp

import (
	"slices"
	"time"
)

const (
	// pingEvery is how often a ping is repeated that got no pong, and pingRepeats
	// how many times: at 20 % loss each way one in ten thousand stays unanswered.
	pingEvery   = 250 * time.Millisecond
	pingRepeats = 8
)

// timer is the one timer of a connection, and what it may be armed for, each
// never when it is not due.
type timer struct {
	t     *time.Timer // nil until something is due for the first time
	armed time.Duration

	ack    time.Duration // acks have waited long enough
	resend time.Duration // KCP has something to resend
	probe  time.Duration // the last data frame is to be sent again
	ping   time.Duration // the ping is to be sent again
	phase  time.Duration // the next step of the end
}

func (t *timer) reset() {
	t.armed = never
	t.rest()
}

// rest forgets what is due, except for the end.
func (t *timer) rest() {
	t.ack, t.resend, t.probe, t.ping, t.phase = never, never, never, never, never
}

// keepAlive is the ping under way.
type keepAlive struct {
	frame []byte // its type and payload; kept for the next
	left  int    // repetitions
}

// due is when the timer must fire.
func (e *engine) due() time.Duration {
	t := &e.timer
	return min(t.ack, t.resend, t.probe, t.ping, t.phase, e.stalled(), e.silent(), e.look())
}

// stalled is when a peer that acknowledges nothing is given up.
func (e *engine) stalled() time.Duration {
	if e.phase > phaseDrain || e.kcp.WaitSnd() == 0 {
		return never
	}
	return e.sending.progressAt + e.set.writeTimeout
}

// silent is when a peer of whom nothing comes is given up.
func (e *engine) silent() time.Duration {
	if e.phase > phaseDrain || e.set.silenceMax == 0 {
		return never
	}
	return e.taking.heardAt + e.set.silenceMax
}

// A side with a stallMax looks by itself whether the peer is still there: after some
// silence it asks, again and again, and when nothing has come after that it gives up.
// Questions are counted, not time: a process that was stopped has questions left.
const (
	lookShare = 5  // of stallMax, one part is silence and the rest are questions
	looksMax  = 14 // at 20 % loss each way, one in a million goes without an answer
)

// look is when the peer is to be asked next whether it is there, or given up.
func (e *engine) look() time.Duration {
	after := e.set.stallMax / lookShare
	switch {
	case e.phase > phaseDrain || e.set.stallMax == 0:
		return never
	case e.looks == 0:
		return e.taking.heardAt + after
	}
	return e.lookedAt + (e.set.stallMax-after)/looksMax
}

// lookAgain asks, and reports false when the peer was asked often enough.
func (e *engine) lookAgain() bool {
	if e.looks == looksMax {
		return false
	}
	e.looks++
	e.lookedAt = e.now
	e.write(question)
	return true
}

// question is a ping without a payload.
var question = []byte{byte(framePing)}

// arm sees to it that the timer fires in time. One that is set too early is left
// alone: it fires for nothing once, which costs less than setting it for every
// message.
func (e *engine) arm() {
	t, due := &e.timer, e.due()
	switch {
	case due == never:
		if t.armed != never {
			t.t.Stop()
			t.armed = never
		}
	case due < t.armed:
		t.armed = due
		if t.t == nil {
			t.t = time.AfterFunc(due-e.now, e.onTimer)
		} else {
			t.t.Reset(due - e.now)
		}
	}
}

func (e *engine) onTimer() {
	e.lock()
	e.guarded(e.fire)
	e.leave()
}

// fire does what is due.
func (e *engine) fire() {
	t := &e.timer
	t.armed = never
	switch {
	case e.now >= e.stalled():
		e.part(closeStalled, errStalled, false)
	case e.now >= e.silent(), e.now >= e.look() && !e.lookAgain():
		e.endNow(errSilent)
	}
	if e.phase <= phaseDrain {
		if e.now >= t.ack || e.now >= t.resend {
			if e.sending.window == 0 && e.now >= t.resend && e.kcp.WaitSnd() > 0 {
				e.ask()
			}
			e.flush()
		}
		if e.now >= t.probe {
			e.probe()
		}
		if e.now >= t.ping {
			e.repeatPing()
		}
	}
	if e.now >= t.phase {
		e.onPhaseTimer()
	}
}

// startPing sends a ping until it is answered. One that is under way is replaced:
// the answer to the newer proves at least as much.
func (e *engine) startPing(payload []byte) {
	p := &e.ping
	p.frame = append(append(p.frame[:0], byte(framePing)), payload[:min(len(payload), controlMax)]...)
	p.left = pingRepeats
	e.timer.ping = e.now + pingEvery
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
		e.drop(malformedControl)
		return
	}
	e.lock()
	if e.phase <= phaseParting && e.taking.mayAsk(e.now) {
		d := datagrams.Get().(*datagram)
		d[0] = byte(framePong)
		e.write(d[:1+copy(d[1:], payload)])
		datagrams.Put(d)
	}
	e.heard()
	e.leave()
}

// Questions are answered for a while and then not: an answer costs more than the
// question, and the socket's reader serves others too.
const (
	asksMax   = 16 // in asksEvery
	asksEvery = 200 * time.Millisecond
)

// mayAsk counts a question, and reports whether it gets an answer.
func (t *taking) mayAsk(now time.Duration) bool {
	if now-t.askedFrom >= asksEvery {
		t.askedFrom, t.asked = now, 0
	}
	t.asked++
	return t.asked <= asksMax
}

// onPong ends the repetition of the ping it answers.
func (e *engine) onPong(payload []byte) {
	if len(payload) > controlMax {
		e.drop(malformedControl)
		return
	}
	e.lock()
	e.taking.heardAt, e.looks = e.now, 0
	if len(e.ping.frame) > 0 && slices.Equal(payload, e.ping.frame[1:]) {
		e.timer.ping = never
	}
	if e.set.wantsAlive {
		e.taking.pong = append(e.taking.pong[:0], payload...)
		e.taking.ponged = true
	}
	e.leave()
}
