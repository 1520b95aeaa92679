package kcp

import (
	"testing"
	"testing/synctest"
	"time"

	kcpgo "github.com/xtaci/kcp-go/v5"

	"troupe/messages"
	"troupe/messages/counters"
)

// attacked is a host's connection with a hostile peer. The test writes the peer's records itself.
type attacked struct {
	*pair
	e *engine
}

// attack makes a connection that has logged in. Nothing that the host sends arrives.
func attack(t *testing.T, o Options) *attacked {
	p := connectFresh(t, 1, weather{}, o, DialOptions{})
	p.stream.e.lock()
	p.stream.e.stop(phaseEnded) // the hostile peer replaces the Stream
	p.stream.e.ending.carrierClosed = true
	p.stream.e.leave()
	p.conn.SetSource(p.source)
	return &attacked{p, p.conn.e}
}

func (a *attacked) in(records ...[]byte) {
	for _, r := range records {
		a.e.OnRecord(r)
	}
}

// lives checks that the connection still accepts messages. number is the next segment number.
func (a *attacked) lives(t *testing.T, number uint32) {
	t.Helper()
	before := len(a.host.got())
	a.in(dataFrame(forged{number: number, data: []byte("alive")}))
	synctest.Wait()
	if got := a.host.got(); len(got) != before+1 || string(got[before]) != "alive" {
		t.Errorf("the connection takes no messages any more: %q", got)
	}
}

func (a *attacked) dropped(t *testing.T, why counters.RecordDrop, want int64) {
	t.Helper()
	if got := a.count.Records.Get(why); got != want {
		t.Errorf("%d records counted as %s, want %d", got, why, want)
	}
}

// RL-207.
func TestHostileRecordsAreDroppedAndCounted(t *testing.T) {
	whole := dataFrame(forged{data: []byte("data")})
	for _, c := range []struct {
		name   string
		record []byte
		why    counters.RecordDrop
	}{
		{"empty", nil, counters.SegmentFrame},
		{"type 0", []byte{0, 1, 2}, counters.SegmentFrame},
		{"type 7", []byte{7}, counters.SegmentFrame},
		{"type 255", []byte{255, 1}, counters.SegmentFrame},
		{"over 1500", dataFrame(forged{data: make([]byte, 1600)}), counters.SegmentTooLarge},
		{"no segment", whole[:1], counters.SegmentMalformed},
		{"lying length", dataFrame(forged{data: []byte("data"), length: 1 << 31}), counters.SegmentMalformed},
		{"other conversation", dataFrame(forged{conv: 7, data: []byte("data")}), counters.SegmentConversation},
		{"long ping", append([]byte{byte(framePing)}, make([]byte, controlMax+1)...), counters.SegmentMalformed},
		{"long pong", append([]byte{byte(framePong)}, make([]byte, controlMax+1)...), counters.SegmentMalformed},
		{"bye without a code", []byte{byte(frameBye), 3}, counters.SegmentMalformed},
		{"long bye", append([]byte{byte(frameBye)}, make([]byte, controlMax+1)...), counters.SegmentMalformed},
	} {
		named(t, c.name, func(t *testing.T) {
			a := attack(t, Options{})
			a.in(c.record, c.record)
			synctest.Wait()
			a.dropped(t, c.why, 2)
			if n := len(a.host.got()) + len(a.host.pongs); n != 0 || a.a.out.sent() != 0 {
				t.Errorf("%d handed up, %d answers", n, a.a.out.sent())
			}
			a.lives(t, 0)
			a.finish()
		})
	}
}

// The second line of defence: if KCP panics in spite of the check, only this connection ends.
func TestPanicInKCPEndsTheConnection(t *testing.T) {
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		a.e.lock()
		a.e.takeIn(dataFrame(forged{data: make([]byte, 1501)})[1:]) // skips the check
		a.e.leave()
		a.dropped(t, counters.SegmentTooLarge, 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if end := a.host.end(t); end.ByHost != messages.CloseProtocolError {
			t.Errorf("end %+v", end)
		}
		a.finish()
	})
}

// Fragments of a message that never completes would otherwise fill the window for ever.
func TestMessageThatNeverCompletes(t *testing.T) {
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		for n := range uint32(pendingSegments) {
			a.in(dataFrame(forged{number: n, frg: pendingSegments, data: make([]byte, 10)}))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if end := a.host.end(t); end.ByHost != messages.CloseMessageTooBig {
			t.Errorf("end %+v", end)
		}
		a.finish()
	})
}

// Before the login the window is small, so a peer can make KCP store only little.
func TestWindowBeforeLogin(t *testing.T) {
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		gate := make(chan struct{})
		a.host.onUnit = func([]byte) { <-gate }
		acked := func() int {
			a.e.lock()
			defer a.e.leave()
			return int(a.e.receiving.sentUna)
		}
		for n := range uint32(300) {
			a.in(dataFrame(forged{number: n, data: make([]byte, 10)}))
		}
		time.Sleep(time.Second)
		if n := acked(); n > pendingSegments+1 { // the handler has one more
			t.Errorf("%d segments acknowledged before the login", n)
		}
		a.conn.LoggedIn()
		for n := range uint32(300) {
			a.in(dataFrame(forged{number: n, data: make([]byte, 10)}))
		}
		time.Sleep(time.Second)
		if n := acked(); n < windowSegments || n > windowSegments+1 {
			t.Errorf("%d segments acknowledged after the login", n)
		}
		close(gate)
		time.Sleep(time.Second)
		a.finish()
	})
}

// Before the login, a conforming client does not send more than the small window allows.
func TestClientKeepsTheWindowBeforeLogin(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connectFresh(t, 1, weather{delay: 5 * time.Millisecond}, Options{}, DialOptions{})
		p.say(t, 100)
		if n := p.b.out.sent(); n != pendingSegments {
			t.Errorf("%d datagrams before the host has said a word", n)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(p.host.got()); n != 100 {
			t.Errorf("%d of 100 messages", n)
		}
		if n := p.b.out.sent(); n > 120 {
			t.Errorf("%d datagrams for 100 messages", n)
		}
		p.finish()
	})
}

// False acks and impossible windows harm only the peer that sends them.
func TestLyingAcks(t *testing.T) {
	lies := []forged{
		{cmd: kcpgo.IKCP_CMD_ACK, number: 5000},
		{cmd: kcpgo.IKCP_CMD_ACK, number: 1<<32 - 1},
		{cmd: kcpgo.IKCP_CMD_ACK, number: 1 << 31},
		{cmd: kcpgo.IKCP_CMD_ACK, number: 0, una: 1 << 31},
		{cmd: kcpgo.IKCP_CMD_ACK, number: 3, una: 1<<31 - 1, stamp: 1 << 31},
		{cmd: kcpgo.IKCP_CMD_ACK, number: 3, stamp: 1<<32 - 1},
		{cmd: kcpgo.IKCP_CMD_WINS, window: 65535},
		{cmd: kcpgo.IKCP_CMD_WINS, window: -1},
		{cmd: kcpgo.IKCP_CMD_WINS, window: 65535, una: 77},
		{cmd: kcpgo.IKCP_CMD_WASK, una: 1<<32 - 1},
	}
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		other := connect(t, 2, weather{})
		for range 20 {
			a.hear(t, 10)
			for _, l := range lies {
				a.in(dataFrame(l))
				if n := a.e.waiting(); n > windowSegments {
					t.Fatalf("%d segments in KCP", n)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		a.lives(t, 0)
		other.hear(t, 5)
		other.say(t, 5)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(other.client.got()) != 5 || len(other.host.got()) != 5 {
			t.Error("another connection suffers")
		}
		a.finish()
		other.finish()
	})
}

// Acks that cause resends do not multiply traffic: KCP makes at most one fast resend of a segment before its timeout.
func TestAcksDoNotMultiply(t *testing.T) {
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		a.in(dataFrame(forged{cmd: kcpgo.IKCP_CMD_WINS, window: 128}))
		a.hear(t, 100)
		before := a.a.out.sent()
		for range 1000 {
			a.in(dataFrame(forged{cmd: kcpgo.IKCP_CMD_ACK, number: 99, una: 0, stamp: 1 << 30}))
		}
		if n := a.a.out.sent() - before; n > 110 {
			t.Errorf("%d datagrams for acks that acknowledge nothing", n)
		}
		a.finish()
	})
}

// A peer whose window stays closed for ever counts as stalled, even if it sends signs of life.
func TestClosedWindowTimesOut(t *testing.T) {
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		closed := dataFrame(forged{cmd: kcpgo.IKCP_CMD_WINS, window: -1})
		a.in(closed)
		a.hear(t, 500)
		began := time.Now()
		for time.Since(began) < 9900*time.Millisecond {
			time.Sleep(100 * time.Millisecond)
			a.in(closed, []byte{byte(framePing), 1})
			if n := a.e.waiting(); n > windowSegments {
				t.Fatalf("%d segments in KCP", n)
			}
		}
		if a.e.phaseNow() != phaseOpen {
			t.Fatal("ended too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if end := a.host.end(t); end.ByHost != messages.CloseWriteTimeout {
			t.Errorf("end %+v", end)
		}
		if a.source.len() < 300 {
			t.Errorf("%d frames left in the source", a.source.len())
		}
		a.finish()
	})
}

// Segments beyond the window are not acknowledged, and they block nothing.
func TestSegmentsBeyondTheWindow(t *testing.T) {
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		for range 20 {
			a.in(dataFrame(forged{number: 5000, data: []byte("x")}), dataFrame(forged{cmd: kcpgo.IKCP_CMD_ACK, number: 1}),
				dataFrame(forged{number: 5000, data: []byte("x")}, forged{number: pendingSegments, data: []byte("x")}))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if ok, why := a.e.idle(); !ok {
			t.Errorf("not idle: %+v", why)
		}
		if n := a.a.out.sent(); n != 0 {
			t.Errorf("%d answers", n)
		}
		a.lives(t, 0)
		a.finish()
	})
}

// A peer that asks for the window gets an answer at once. A peer that opens its own window gets the waiting messages at
// once. A peer with a closed window that sends nothing is asked.
func TestWindowProbes(t *testing.T) {
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		answers := func(what string, want int, f func()) {
			t.Helper()
			before := a.a.out.sent()
			f()
			if n := a.a.out.sent() - before; n != want {
				t.Errorf("%s: %d datagrams, want %d", what, n, want)
			}
		}
		answers("asked", 1, func() { a.in(dataFrame(forged{cmd: kcpgo.IKCP_CMD_WASK})) })
		answers("closed", 0, func() {
			a.in(dataFrame(forged{cmd: kcpgo.IKCP_CMD_WINS, window: -1}))
			a.hear(t, 5)
		})
		asks := 0
		a.a.out.mu.Lock()
		a.a.out.lose = func(b []byte) bool {
			if s, _ := cutSegment(b[1:]); frameType(b[0]) == frameData && s.cmd == kcpgo.IKCP_CMD_WASK {
				asks++
			}
			return true
		}
		a.a.out.mu.Unlock()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if asks < 10 || asks > 16 { // four a second, and some that the library sends itself
			t.Errorf("asked %d times in 3 s", asks)
		}
		answers("opened", 1, func() { a.in(dataFrame(forged{cmd: kcpgo.IKCP_CMD_WINS, window: 128})) })
		a.finish()
	})
}

// An answer costs more than the request, so most requests of a flood are not answered.
func TestAFloodOfQuestionsIsNotAnswered(t *testing.T) {
	in(t, func(t *testing.T) {
		a := attack(t, Options{})
		before := a.a.out.sent()
		for range 500 {
			a.in([]byte{byte(framePing), 'x'})
			a.in(dataFrame(forged{cmd: kcpgo.IKCP_CMD_WASK}))
		}
		if n := a.a.out.sent() - before; n != answersMax {
			t.Errorf("%d answers, want %d", n, answersMax)
		}
		time.Sleep(answersPer)
		synctest.Wait()
		before = a.a.out.sent()
		a.in([]byte{byte(framePing), 'y'})
		if n := a.a.out.sent() - before; n != 1 {
			t.Errorf("%d answers later, want 1", n)
		}
		a.finish()
	})
}
