package kcp

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/dtls"
)

// isFrame matches datagrams of one type. Tests pass it to loseIf.
func isFrame(t frameType) func(b []byte) bool {
	return func(b []byte) bool { return frameType(b[0]) == t }
}

func TestOtherGoodbyeIsALoss(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		p.stream.Close(1001)
		synctest.Wait()
		if end := p.host.end(t); end != (transport.End{Code: 1001}) {
			t.Errorf("the host's end: %+v", end)
		}
		if n := p.count.Closed.Get(counters.ClosedLost); n != 1 {
			t.Errorf("%d losses counted", n)
		}
		p.finish()
	})
}

// Messages that arrive after the host has begun to close are dropped.
func TestClosingHostHearsNothing(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{delay: 5 * time.Millisecond})
		p.hear(t, 1)
		p.conn.Close(messages.CloseNormal)
		p.say(t, 5)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(p.host.got()); n != 0 {
			t.Errorf("%d messages", n)
		}
		p.finish()
	})
}

// The bye of either side is repeated until it is acknowledged. The answer is repeated, too.
func TestGoodbyeThatIsLost(t *testing.T) {
	for _, c := range []struct {
		name string
		lost frameType
	}{{"bye", frameBye}, {"byeAck", frameByeAck}} {
		named(t, c.name, func(t *testing.T) {
			p := connect(t, 1, weather{})
			lost := 0
			lose := func(b []byte) bool {
				if frameType(b[0]) == c.lost && lost < 7 {
					lost++
					return true
				}
				return false
			}
			p.a.out.loseIf(lose)
			p.b.out.loseIf(lose)
			began := time.Now()
			p.stream.Close(1000)
			took := time.Since(began)
			synctest.Wait()
			if end := p.host.end(t); !end.Clean {
				t.Errorf("the host's end: %+v", end)
			}
			if lost != 7 || took.Truncate(time.Millisecond) != 7*byeEvery {
				t.Errorf("%d lost, took %v", lost, took)
			}
			p.finish()
		})
	}
}

// Without an answer, the bye is repeated for a second. Then the carrier is closed.
func TestGoodbyeToNobody(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		byes := 0
		p.a.out.loseIf(func(b []byte) bool {
			if frameType(b[0]) == frameBye {
				byes++
			}
			return true
		})
		p.a.silently = true
		p.hear(t, 3)
		began := time.Now()
		p.conn.Close(messages.ClosePingTimeout)
		time.Sleep(600 * time.Millisecond)
		p.conn.Close(messages.ClosePingTimeout) // does not restart the closing
		time.Sleep(time.Minute)
		synctest.Wait()
		end := p.host.end(t)
		if end.ByHost != messages.ClosePingTimeout || end.Clean {
			t.Errorf("the host's end: %+v", end)
		}
		if took := p.host.endAt.Sub(began); took.Truncate(time.Millisecond) != 2*time.Second { // CloseLinger and byeMax
			t.Errorf("it took %v", took)
		}
		if byes != 4 { // at 0, 100, 300 and 700 ms
			t.Errorf("%d byes", byes)
		}
		if !p.a.out.closed {
			t.Error("the carrier is open")
		}
		// The client receives nothing any more, and times out.
		if end := p.client.end(t); !errors.Is(end.Err, os.ErrDeadlineExceeded) || end.Code != 0 {
			t.Errorf("the client's end: %+v", end)
		}
		p.finish()
	})
}

func TestBothSayGoodbye(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{delay: 20 * time.Millisecond})
		p.conn.Close(messages.CloseGameEnded)
		p.stream.Close(1000)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if end := p.host.end(t); end.ByHost != messages.CloseGameEnded || end.Clean || end.Code != 1000 {
			t.Errorf("the host's end: %+v", end)
		}
		if end := p.client.end(t); end.Err != nil || end.Code != 4005 {
			t.Errorf("the client's end: %+v", end)
		}
		p.finish()
	})
}

// A carrier that ends without a bye is a loss. Messages received before are still delivered.
func TestAbruptEnd(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		gate := make(chan struct{})
		p.host.onUnit = func([]byte) { <-gate }
		p.say(t, 20)
		time.Sleep(time.Second)
		p.stream.Abort()
		time.Sleep(time.Second)
		synctest.Wait()
		if !p.host.open() {
			t.Error("OnClosed during OnUnit")
		}
		close(gate)
		synctest.Wait()
		if n := len(p.host.got()); n != 20 {
			t.Errorf("%d of 20 messages", n)
		}
		if end := p.host.end(t); end.Clean || end.Code != 0 || end.ByHost != 0 || !errors.Is(end.Err, dtls.ErrPeerClosed) {
			t.Errorf("the host's end: %+v", end)
		}
		if end := p.client.end(t); !errors.Is(end.Err, net.ErrClosed) {
			t.Errorf("the client's end: %+v", end)
		}
		if err := p.stream.Send(t.Context(), []byte{1}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("send after the end: %v", err)
		}
		if err := p.stream.SendDatagram([]byte{1}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("datagram after the end: %v", err)
		}
		p.finish()
	})
}

// A bye may arrive while messages before it wait for the handler. They are still delivered first.
func TestGoodbyeWaitsForMessages(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		p.host.onUnit = func([]byte) { time.Sleep(100 * time.Millisecond) }
		p.say(t, 50)
		p.stream.Close(1000)
		time.Sleep(time.Second)
		if !p.host.open() {
			t.Error("OnClosed before the messages")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(p.host.got()); n != 50 {
			t.Errorf("%d of 50 messages", n)
		}
		if end := p.host.end(t); !end.Clean {
			t.Errorf("the host's end: %+v", end)
		}
		p.finish()
	})
}

// A half-open connection: the client is gone without a bye, and data is in flight.
// RL-102.
func TestHalfOpenPeer(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		p.b.silently = true
		p.stream.Abort()
		p.a.out.set(weather{loss: 1})
		began := time.Now()
		p.hear(t, 1)
		time.Sleep(9900 * time.Millisecond)
		p.hear(t, 1) // new data does not count as progress
		if !p.host.open() {
			t.Fatal("ended too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		end := p.host.end(t)
		if end.ByHost != messages.CloseWriteTimeout || !errors.Is(end.Err, os.ErrDeadlineExceeded) {
			t.Errorf("the host's end: %+v", end)
		}
		if took := p.host.endAt.Sub(began); took.Truncate(time.Millisecond) != 11*time.Second { // the timeout and byeMax
			t.Errorf("it took %v", took)
		}
		p.finish()
	})
}

func TestSilentHost(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		for range 10 { // pings keep it alive
			time.Sleep(3 * time.Second)
			p.conn.Ping([]byte("1"))
		}
		synctest.Wait()
		p.a.out.set(weather{loss: 1})
		time.Sleep(9990 * time.Millisecond)
		if p.stream.e.phaseNow() != phaseOpen {
			t.Fatal("ended too early")
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if end := p.client.end(t); !errors.Is(end.Err, os.ErrDeadlineExceeded) {
			t.Errorf("the client's end: %+v", end)
		}
		p.finish()
	})
}

// watchful makes a pair whose client pings a silent host (stallMax).
func watchful(t *testing.T, stallMax time.Duration) *pair {
	p := connect(t, 1, weather{})
	p.stream.e.lock()
	p.stream.e.set.stallMax = stallMax
	p.stream.e.leave()
	return p
}

// TestMuteHost checks that the client detects a host from which nothing arrives any more. It must do so in time,
// whatever it does meanwhile. Its fast messages cause no answer.
func TestMuteHost(t *testing.T) {
	const most = 2800 * time.Millisecond
	for name, during := range map[string]func(p *pair){
		"idle": func(p *pair) { time.Sleep(most - 10*time.Millisecond) },
		"fast only": func(p *pair) {
			for began := time.Now(); time.Since(began) < most-20*time.Millisecond; time.Sleep(10 * time.Millisecond) {
				if err := p.stream.SendDatagram([]byte("x")); err != nil {
					p.client.t.Fatal(err)
				}
			}
		},
		"reliable": func(p *pair) { p.say(p.client.t, 1); time.Sleep(most - 10*time.Millisecond) },
	} {
		named(t, name, func(t *testing.T) {
			p := watchful(t, most)
			for range 5 { // silence, and then answers
				time.Sleep(8 * time.Second)
				p.say(t, 1)
				p.conn.OpenFast(func([]byte) {})
			}
			time.Sleep(time.Second)
			p.conn.Ping([]byte("1")) // the last record that arrives
			synctest.Wait()
			time.Sleep(time.Millisecond)
			p.a.out.set(weather{loss: 1})
			during(p)
			if p.stream.e.phaseNow() != phaseOpen {
				t.Fatal("ended too early")
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if end := p.client.end(t); !errors.Is(end.Err, os.ErrDeadlineExceeded) {
				t.Errorf("the client's end: %+v", end)
			}
			p.finish()
		})
	}
}

// TestMuteForAMoment checks that loss, delay or a gap of two seconds does not count as a dead path.
// RL-105.
func TestMuteForAMoment(t *testing.T) {
	for name, w := range map[string]weather{"calm": {}, "a fifth is lost": {loss: 0.2}} {
		named(t, name, func(t *testing.T) {
			p := watchful(t, 2800*time.Millisecond)
			for range 20 {
				p.a.out.set(w)
				p.b.out.set(w)
				time.Sleep(10 * time.Second)
				if w.loss == 0 {
					p.a.out.set(weather{loss: 1})
					time.Sleep(2 * time.Second)
				}
			}
			if p.stream.e.phaseNow() != phaseOpen {
				t.Fatalf("ended: %+v", p.client.end(t))
			}
			p.finish()
		})
	}
}

// TestStoppedProcess checks a client whose timer fires late because its process was stopped. It must
// ping the host before it ends the connection.
// RL-115.
func TestStoppedProcess(t *testing.T) {
	in(t, func(t *testing.T) {
		p := watchful(t, 2800*time.Millisecond)
		e := p.stream.e
		time.Sleep(time.Second)
		e.lock()
		e.start = e.start.Add(-time.Minute) // now it is a minute later
		e.set.silenceMax = time.Hour
		e.leave()
		time.Sleep(time.Second)
		if e.phaseNow() != phaseOpen {
			t.Fatal("ended")
		}
		p.finish()
	})
}

// TestStoppedHost checks that a paused host first processes the acks that arrived meanwhile. It ends only
// connections whose peers still acknowledge nothing.
// RL-115.
func TestStoppedHost(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		e := p.conn.e
		p.b.out.set(weather{loss: 1}) // the peer's acks are not read yet
		p.hear(t, 1)
		time.Sleep(time.Second)
		e.lock()
		e.start = e.start.Add(-20 * time.Second) // now it is 20 s later
		e.leave()
		time.Sleep(2 * time.Second)
		if e.phaseNow() != phaseOpen {
			t.Fatalf("ended: %+v", p.host.end(t))
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if end := p.host.end(t); end.ByHost != messages.CloseWriteTimeout {
			t.Errorf("the host's end: %+v", end)
		}
		p.finish()
	})
}

type panicking struct{ recorder }

func (*panicking) Accept(transport.Conn) (transport.Handler, messages.CloseReason) { panic("a bug") }

type buggySource struct{}

func (buggySource) Drain(wire.Sink) bool { panic("a bug") }

func TestPanicsCostOneConnection(t *testing.T) {
	for name, c := range map[string]struct {
		cause func(t *testing.T, p *pair)
		ends  messages.CloseReason
	}{
		"handler": {func(t *testing.T, p *pair) {
			p.host.onUnit = func([]byte) { panic("a bug") }
			p.say(t, 1)
		}, messages.CloseInternalError},
		"fast": {func(t *testing.T, p *pair) {
			p.conn.OpenFast(func([]byte) { panic("a bug") })
			_ = p.stream.SendDatagram(frameBytes(1, 1))
		}, messages.CloseInternalError},
		"source": {func(_ *testing.T, p *pair) {
			p.conn.SetSource(buggySource{})
			p.conn.Flush()
		}, messages.CloseInternalError},
		"source, reading": {func(_ *testing.T, p *pair) {
			p.conn.SetSource(buggySource{})
			p.conn.e.lock()
			p.conn.e.sending.backlog = true
			p.conn.e.leave()
			p.conn.Close(messages.CloseNormal)
		}, messages.CloseNormal},
	} {
		named(t, name, func(t *testing.T) {
			p := connect(t, 1, weather{})
			c.cause(t, p)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if end := p.host.end(t); end.ByHost != c.ends || c.ends == messages.CloseInternalError && !errors.Is(end.Err, errPanicked) {
				t.Errorf("the host's end: %+v", end)
			}
			if end := p.client.end(t); end.Code != uint16(c.ends) && c.ends == messages.CloseInternalError {
				t.Errorf("the client's end: %+v", end)
			}
			p.conn.SetSource(nil) // does not block: no lock is held
			if n := p.count.ConnectionPanics.Load(); n != 1 {
				t.Errorf("%d panics counted", n)
			}
			p.finish()
		})
	}
	named(t, "acceptor", func(t *testing.T) {
		a, b := network(1, weather{})
		l := NewListener(Options{}, new(panicking))
		a.in.connect(l.accept(a))
		c := &listening{t: t}
		s := newStream(b, DialOptions{}, c)
		b.in.connect(s.e)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if end := c.end(t); end.Code != 1011 || l.Len() != 0 {
			t.Errorf("the client's end: %+v, %d left", end, l.Len())
		}
	})
}

func TestListenerCloses(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		p.l.Close()
		p.l.Close()
		a, _ := network(2, weather{})
		if p.l.accept(a) != nil {
			t.Error("accepts after Close")
		}
		if n := p.count.Refused.Get(counters.RefusedDraining); n != 1 {
			t.Errorf("%d refusals counted", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.l.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait with one open: %v", err)
		}
		if p.l.Len() != 1 {
			t.Errorf("%d open, want 1", p.l.Len())
		}
		p.l.CloseAll(messages.CloseGoingAway)
		if err := p.l.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if end := p.client.end(t); end.Code != 1001 {
			t.Errorf("the client's end: %+v", end)
		}
		p.finish()
	})
}

// Close returns even if the handler calls it.
func TestCloseFromTheHandler(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		p.client.onMessage = func([]byte) { p.stream.Close(1000) }
		p.hear(t, 1)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if end := p.host.end(t); !end.Clean {
			t.Errorf("the host's end: %+v", end)
		}
		p.client.end(t)
		p.finish()
	})
}
