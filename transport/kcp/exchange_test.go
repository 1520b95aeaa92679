package kcp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// messageOf returns a message of n bytes that differs for each number.
func messageOf(number, n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(uint64(number), uint64(n)))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func sameMessages(t *testing.T, what string, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d messages, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("%s: message %d of %d bytes is not the one of %d bytes", what, i, len(got[i]), len(want[i]))
			return
		}
	}
}

// Messages of the largest size pass in both directions. For a larger one, the client gets an error. At the host it ends
// the connection, because an error cannot be reported to a source.
func TestLargestMessage(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connectFresh(t, 1, weather{}, Options{}, DialOptions{})
		p.conn.LoggedIn()
		p.conn.e.lock()
		p.conn.e.widen(MessageMax)
		p.conn.e.leave()
		p.conn.SetSource(p.source)
		large := messageOf(1, MessageMax)
		if err := p.stream.Send(t.Context(), large); err != nil {
			t.Fatal(err)
		}
		f := wire.NewFrame(&wire.Header{OpCode: 1, Payload: make([]byte, MessageMax-11)})
		if f.Len() != MessageMax {
			t.Fatalf("%d bytes, want %d", f.Len(), MessageMax)
		}
		p.source.add(f)
		p.conn.Flush()
		time.Sleep(time.Second)
		sameMessages(t, "to the host", p.host.got(), [][]byte{large})
		if got := p.client.got(); len(got) != 1 || len(got[0]) != MessageMax {
			t.Errorf("%d messages to the client", len(got))
		}
		if err := p.stream.Send(t.Context(), make([]byte, MessageMax+1)); err == nil {
			t.Error("the stream takes a message over the limit")
		}
		if err := p.stream.Send(t.Context(), nil); err == nil {
			t.Error("the stream takes a message of no bytes")
		}
		p.source.add(wire.NewFrame(&wire.Header{OpCode: 1, Payload: make([]byte, MessageMax-10)}))
		p.conn.Flush()
		time.Sleep(time.Second)
		synctest.Wait()
		if end := p.client.end(t); end.Code != uint16(messages.CloseInternalError) {
			t.Errorf("the client's end: %+v", end)
		}
		if end := p.host.end(t); end.ByHost != messages.CloseInternalError || end.Err == nil {
			t.Errorf("the host's end: %+v", end)
		}
		p.finish()
	})
}

// TestLatencyUnderLoss shows the purpose of the loss probe: the loss of a message is detected even if no later message follows.
func TestLatencyUnderLoss(t *testing.T) {
	in(t, func(t *testing.T) {
		messages := 20_000
		if testing.Short() {
			messages = 4000
		}
		p := connect(t, 42, weather{loss: 0.05})
		at := make([]time.Time, messages)
		took := make([]time.Duration, 0, messages)
		p.client.onMessage = func(b []byte) { took = append(took, time.Since(at[senderOf(t, b)])) }
		for i := range messages {
			at[i] = time.Now()
			p.source.add(frameOf(i, 100))
			p.conn.Flush()
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(took) != messages {
			t.Fatalf("%d of %d messages", len(took), messages)
		}
		slices.Sort(took)
		q := func(f float64) time.Duration { return took[int(f*float64(len(took)-1))] }
		t.Logf("p50 %v p90 %v p99 %v p99.9 %v max %v; resent %d", q(.5), q(.9), q(.99), q(.999), q(1), p.count.Resent.Load())
		if q(.9) > time.Millisecond || q(.99) > 15*time.Millisecond || q(.999) > 80*time.Millisecond {
			t.Error("a lost message takes too long")
		}
		// A lost message and a lost ack cause one resend each. Together that is 10 % of the messages; the bounds allow
		// for some further resends.
		if r := p.count.Resent.Load(); int(r) < messages/20 || int(r) > messages/6 {
			t.Errorf("%d resends of %d messages", r, messages)
		}
		p.finish()
	})
}

// Nothing is resent on a path without loss, however long its delay is.
func TestNoNeedlessResends(t *testing.T) {
	for _, delay := range []time.Duration{0, 20 * time.Millisecond, 150 * time.Millisecond} {
		named(t, fmt.Sprint(delay), func(t *testing.T) {
			p := connect(t, 1, weather{delay: delay})
			for i := range 200 { // so that the round trip is known
				p.hear(t, 1)
				time.Sleep(time.Duration(30+i%9) * time.Millisecond)
			}
			time.Sleep(time.Second)
			before := p.count.Resent.Load()
			for i := range 500 {
				p.hear(t, 1+i%3)
				time.Sleep(time.Duration(10+i%50) * time.Millisecond)
			}
			time.Sleep(time.Second)
			if n := p.count.Resent.Load() - before; n > 0 {
				t.Errorf("%d resends", n)
			}
			p.finish()
		})
	}
}

// A layer above that blocks stops only its own peer. Messages that it does not accept stay with the peer, in a bounded queue.
func TestSlowReader(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		gate := make(chan struct{})
		p.host.onUnit = func([]byte) { <-gate }
		var want [][]byte
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for i := range 3000 {
				want = append(want, frameBytes(i, 20))
				if err := p.stream.Send(t.Context(), want[i]); err != nil {
					t.Error(err)
					return
				}
			}
		}()
		time.Sleep(5 * time.Second)
		select {
		case <-sent:
			t.Fatal("the stream took everything, though nobody reads")
		default:
		}
		// A slow reader must not count as a dead peer: it stops acknowledging, but its window is closed.
		p.conn.Ping([]byte("still"))
		time.Sleep(time.Second)
		close(gate)
		time.Sleep(100 * time.Millisecond) // the peer is notified at once, not only when it asks
		select {
		case <-sent:
		default:
			t.Error("the window opens late")
			<-sent
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		sameMessages(t, "to the host", p.host.got(), want)
		if got := p.host.pongs; !slices.Equal(got, []string{"still"}) {
			t.Errorf("pongs %q", got)
		}
		p.finish()
	})
}
