package kcp

import (
	"bytes"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
)

func (e *engine) idle() (idle bool, why timer) {
	e.lock()
	defer e.leave()
	return e.timer.armed == never && !e.handover.running, e.timer
}

// A connection with nothing in flight has no timer and no goroutine.
func TestIdleCostsNothing(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{loss: 0.1, delay: 10 * time.Millisecond})
		for i := range 50 {
			p.hear(t, i%3)
			p.say(t, i%2)
			time.Sleep(10 * time.Millisecond)
		}
		p.conn.Ping([]byte("1"))
		time.Sleep(10 * time.Second)
		p.conn.Ping([]byte("2"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if ok, why := p.conn.e.idle(); !ok {
			t.Errorf("the host's side is not idle: %+v", why)
		}
		p.a.out.set(weather{})
		p.b.out.set(weather{})
		p.hear(t, 1)
		time.Sleep(ackDelay + time.Millisecond)
		synctest.Wait()
		if ok, why := p.conn.e.idle(); !ok {
			t.Errorf("the host's side is not idle after the ack: %+v", why)
		}
		if why := p.stream.e.timer; why.ack != never || why.resend != never || why.probe != never {
			t.Errorf("the client's side is not idle: %+v", why)
		}
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if n := bytes.Count(stacks, []byte("kcp.(*engine)")); n > 0 {
			t.Errorf("goroutines of idle connections:\n%s", stacks)
		}
		p.finish()
	})
}

// A thin flow costs few datagrams: acks ride on data, or wait for each other.
func TestAcksRideOnData(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{delay: 5 * time.Millisecond})
		p.host.onUnit = func([]byte) { p.hear(t, 1) } // an answer to each
		talk := func() {
			for range 100 {
				p.say(t, 1)
				time.Sleep(40 * time.Millisecond)
			}
		}
		talk() // the path is learnt anew: connect made it without delay
		up, down := p.b.out.sent(), p.a.out.sent()
		talk()
		synctest.Wait()
		up, down = p.b.out.sent()-up, p.a.out.sent()-down
		if down != 100 || up != 200 { // the client's ack of the answer has no company
			t.Errorf("%d datagrams down, %d up; want 100, 200", down, up)
		}
		p.host.onUnit = nil
		down = p.a.out.sent()
		p.say(t, 4)
		time.Sleep(100 * time.Millisecond)
		if n := p.a.out.sent() - down; n != 1 {
			t.Errorf("%d datagrams for the acks of 4 messages, want 1", n)
		}
		down = p.a.out.sent()
		p.say(t, 8)
		time.Sleep(5500 * time.Microsecond)
		if n := p.a.out.sent() - down; n != 1 {
			t.Errorf("%d datagrams at once for the acks of 8 messages, want 1", n)
		}
		p.finish()
	})
}

// Segments out of order are acknowledged at once: the peer's fast resend needs it.
func TestAcksOfDisorderAreSentAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		lost := false
		p.b.out.loseIf(func(b []byte) bool {
			first := !lost
			lost = true
			return first
		})
		down := p.a.out.sent()
		p.say(t, 2)
		time.Sleep(time.Millisecond)
		if n := p.a.out.sent() - down; n != 1 {
			t.Errorf("%d acks at once, want 1", n)
		}
		// One ack behind the gap is enough, after a little patience.
		time.Sleep(reorderDelay + time.Millisecond)
		synctest.Wait()
		if n := len(p.host.got()); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
		p.finish()
	})
}

// A peer that is gone, while its game plays on, costs little until it is given up: a crowd that comes back shares the host
// with its own connections of before.
func TestAPeerThatIsGoneCostsLittle(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{delay: 5 * time.Millisecond})
		for range 20 { // the path is known
			p.hear(t, 1)
			time.Sleep(200 * time.Millisecond)
		}
		gone := func([]byte) bool { return true }
		p.a.out.loseIf(gone)
		p.b.out.loseIf(gone)
		before := p.a.out.sent()
		for i := range 40 {
			if i%15 == 0 {
				p.conn.Ping([]byte("1"))
			}
			p.hear(t, 1)
			time.Sleep(200 * time.Millisecond)
		}
		if n := p.a.out.sent() - before; n != 38 {
			t.Errorf("%d datagrams in 8 s, want 38", n)
		}
		p.a.out.loseIf(nil)
		p.b.out.loseIf(nil)
		p.say(t, 1)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if n := len(p.client.got()); n != 60 {
			t.Errorf("%d messages of 60 soon after the peer is back", n)
		}
		p.finish()
	})
}

// A closing connection sends nothing again, also when its peer is back: a timer in the past would fire without a pause.
func TestAPeerThatIsBackTooLate(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		gone := func([]byte) bool { return true }
		p.a.out.loseIf(gone)
		p.hear(t, 1)
		time.Sleep(2 * time.Second)
		e := p.conn.e
		e.lock()
		e.startClose(messages.CloseWriteTimeout, errStalled, false)
		e.leave()
		e.OnRecord([]byte{byte(framePing)})
		if due := e.timer.armed; due < e.now {
			t.Errorf("the timer is set to %v, now is %v", due, e.now)
		}
		p.finish()
	})
}

// Loss alone is no silence: at 20 % each way messages at 50 a second come as soon as resends at even distances bring them.
func TestALossyPathIsNotGone(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{loss: 0.2, delay: 5 * time.Millisecond})
		var worst time.Duration
		sent := make(map[int]time.Time)
		n := 0
		p.client.onMessage = func([]byte) { worst = max(worst, time.Since(sent[n])); n++ }
		for i := range 2000 {
			sent[i] = time.Now()
			p.hear(t, 1)
			time.Sleep(20 * time.Millisecond)
			synctest.Wait()
		}
		if worst > 300*time.Millisecond {
			t.Errorf("a message came after %v", worst)
		}
		p.finish()
	})
}

func TestPingRepeats(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		p.b.out.loseIf(isFrame(framePong))
		before := p.a.out.sent()
		long := make([]byte, 200)
		p.conn.Ping(long)
		time.Sleep(5 * time.Second)
		if n := p.a.out.sent() - before; n != 1+pingRepeats {
			t.Errorf("%d pings, want %d", n, 1+pingRepeats)
		}
		p.b.out.loseIf(nil)
		p.conn.Ping(long)
		p.conn.Ping([]byte("newer")) // replaces the first, both are answered
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := p.host.pongs; len(got) == 0 || got[len(got)-1] != "newer" || len(got[0]) > controlMax {
			t.Errorf("pongs %q", got)
		}
		p.finish()
	})
}

// Records without a message are signs of life, now and then.
func TestSignsOfLife(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		time.Sleep(time.Second)
		p.host.alive = 0
		for range 400 { // 4 s of acks
			p.hear(t, 1)
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if n := p.host.alive; n < 7 || n > 9 {
			t.Errorf("%d signs of life in 4 s, want 8", n)
		}
		p.host.alive = 0
		for range 400 { // messages speak for themselves
			p.say(t, 1)
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if n := p.host.alive; n != 0 {
			t.Errorf("%d signs of life beside messages", n)
		}
		p.finish()
	})
}

// The timer may come too early, but not for nothing again and again.
func TestTimerFiresSeldom(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{delay: 25 * time.Millisecond})
		for range 40 { // the path is learnt anew: connect made it without delay
			p.hear(t, 1)
			time.Sleep(100 * time.Millisecond)
		}
		e := p.conn.e
		fired := 0
		e.lock()
		e.set.clock.stop(e)
		e.set.clock = newClock()
		e.set.clock.fired = func() { fired++ }
		e.timer.armed = never
		e.leave()
		for range 100 {
			p.hear(t, 1)
			time.Sleep(50 * time.Millisecond)
		}
		synctest.Wait()
		if fired > 110 {
			t.Errorf("the timer fired %d times for 100 messages without loss", fired)
		}
		p.finish()
	})
}

// The ack of a probe tells the round trip of the probe, not of what was lost.
func TestProbeIsStampedAnew(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connectFresh(t, 1, weather{delay: 5 * time.Millisecond}, Options{}, DialOptions{})
		p.b.out.set(weather{loss: 1})
		p.say(t, 1)
		p.b.out.set(weather{delay: 5 * time.Millisecond})
		time.Sleep(time.Second)
		synctest.Wait()
		e := p.stream.e
		e.lock()
		mean := e.sending.rtt.mean
		e.leave()
		if len(p.host.got()) != 1 || mean < 10*time.Millisecond || mean > 16*time.Millisecond {
			t.Errorf("%d messages, the round trip is taken for %v", len(p.host.got()), mean)
		}
		p.finish()
	})
}

func TestRoundTripEstimate(t *testing.T) {
	var r rtt
	if r.probeAfter() != probeFirst {
		t.Errorf("before any: %v", r.probeAfter())
	}
	r.sample(-5)
	r.sample(60_000)
	if r.mean != 0 {
		t.Errorf("invented samples are believed: %v", r.mean)
	}
	for range 100 {
		r.sample(50)
	}
	if d := r.probeAfter(); d != 56*time.Millisecond {
		t.Errorf("on a path of 50 ms: %v", d)
	}
	for range 100 {
		r.sample(0)
	}
	if d := r.probeAfter(); d != probeMin {
		t.Errorf("on a path of 0 ms: %v", d)
	}
	for range 100 {
		r.sample(9000)
	}
	if d := r.probeAfter(); d != probeMax {
		t.Errorf("on a path of 9 s: %v", d)
	}
}
