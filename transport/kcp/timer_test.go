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

// A small flow of messages costs few datagrams: acks are sent together with data, or with other acks.
func TestAcksRideOnData(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{delay: 5 * time.Millisecond})
		p.host.onUnit = func([]byte) { p.hear(t, 1) } // one answer for each message
		talk := func() {
			for range 100 {
				p.say(t, 1)
				time.Sleep(40 * time.Millisecond)
			}
		}
		talk() // KCP adapts to the path: connect made the pair without delay
		up, down := p.b.out.sent(), p.a.out.sent()
		talk()
		synctest.Wait()
		up, down = p.b.out.sent()-up, p.a.out.sent()-down
		if down != 100 || up != 200 { // the client acknowledges each answer in a separate datagram
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

// Segments out of order are acknowledged at once, because the peer's fast resend needs the acks.
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
		// One ack after the gap causes the resend, after reorderDelay.
		time.Sleep(reorderDelay + time.Millisecond)
		synctest.Wait()
		if n := len(p.host.got()); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
		p.finish()
	})
}

// A peer that is gone, while its game continues, costs little until it times out. When many players reconnect,
// the host still has their old connections.
func TestAPeerThatIsGoneCostsLittle(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{delay: 5 * time.Millisecond})
		for range 20 { // so that the round trip is known
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

// A closing connection resends nothing, even if its peer is back. A resend timer in the past would fire again and again.
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

// Loss alone must not count as silence. At 20 % loss in each direction, messages at 50 a second arrive as early as
// resends at regular intervals can bring them.
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
		p.conn.Ping([]byte("newer")) // replaces the first; both are answered
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := p.host.pongs; len(got) == 0 || got[len(got)-1] != "newer" || len(got[0]) > controlMax {
			t.Errorf("pongs %q", got)
		}
		p.finish()
	})
}

// Records without a message are reported as signs of life, but only now and then.
func TestSignsOfLife(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		time.Sleep(time.Second)
		p.host.alive = 0
		for range 400 { // for 4 s the peer sends only acks
			p.hear(t, 1)
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if n := p.host.alive; n < 7 || n > 9 {
			t.Errorf("%d signs of life in 4 s, want 8", n)
		}
		p.host.alive = 0
		for range 400 { // messages are signs of life themselves
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

// The timer may fire too early, but it must not do so again and again.
func TestTimerFiresSeldom(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{delay: 25 * time.Millisecond})
		for range 40 { // KCP adapts to the path: connect made the pair without delay
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

// The ack of a loss probe measures the round trip of the probe, not of the lost segment.
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
