package kcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
)

// A batch is sent in few datagrams, and a frame of Send comes first.
func TestFlushPacksABatch(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		before, writes, bytes := p.a.out.sent(), p.count.Writes.Get(counters.KCP), p.count.BytesOut.Get(counters.KCP)
		for i := range 40 {
			p.source.add(frameOf(i, 20))
		}
		p.conn.Send(frameOf(100, 20))
		p.conn.Flush()
		if n := p.a.out.sent() - before; n != 2 { // 41 segments of 50 bytes
			t.Errorf("%d datagrams, want 2", n)
		}
		if w, b := p.count.Writes.Get(counters.KCP)-writes, p.count.BytesOut.Get(counters.KCP)-bytes; w != 2 || b < 41*45 || b > 41*60 {
			t.Errorf("%d writes of %d bytes are counted", w, b)
		}
		p.conn.Flush()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := p.client.got(); len(got) != 41 || senderOf(t, got[0]) != 100 || senderOf(t, got[1]) != 0 {
			t.Errorf("%d messages", len(got))
		}
		p.finish()
	})
}

// Methods of an ended connection have no effect.
func TestAfterTheEnd(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		p.finish()
		end := p.host.end(t)
		p.conn.Flush()
		p.conn.Ping([]byte("x"))
		p.conn.LoggedIn()
		p.conn.Close(messages.CloseKicked)
		for _, r := range [][]byte{dataFrame(forged{number: 1, data: []byte("x")}), {byte(framePing)}, {byte(framePong)}, {byte(frameBye), 3, 232}, {byte(frameByeAck)}, {byte(frameFast), 0}} {
			p.conn.e.OnRecord(r)
		}
		p.conn.e.OnClosed(errPathClosed)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if now := p.host.end(t); now != end {
			t.Errorf("end %+v, was %+v", now, end)
		}
		if ok, why := p.conn.e.idle(); !ok {
			t.Errorf("not idle: %+v", why)
		}
	})
}

// Send of a Stream waits only while the queue is full.
func TestStreamSendWaits(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connectFresh(t, 1, weather{loss: 1}, Options{}, DialOptions{QueueMax: 10, WriteTimeout: time.Hour, SilenceMax: time.Hour})
		p.say(t, windowSegments+10) // as much as KCP and the queue accept
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.stream.Send(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Send with a full queue: %v", err)
		}
		sent := make(chan error, 25)
		for range 20 {
			go func() { sent <- p.stream.Send(t.Context(), []byte("x")) }()
		}
		time.Sleep(time.Second)
		if len(sent) > 0 {
			t.Error("Send does not wait")
		}
		p.b.out.set(weather{})
		p.a.out.set(weather{})
		p.conn.LoggedIn()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(sent) != 20 {
			t.Errorf("%d of 20 returned", len(sent))
		}
		if n := len(p.host.got()); n != windowSegments+30 {
			t.Errorf("%d messages, want %d", n, windowSegments+30)
		}
		p.b.out.set(weather{loss: 1})
		p.say(t, windowSegments+10)
		for range 5 {
			go func() { sent <- p.stream.Send(t.Context(), []byte("x")) }()
		}
		synctest.Wait()
		p.stream.Abort()
		synctest.Wait()
		if len(sent) != 25 {
			t.Errorf("%d of 25 returned after the end", len(sent))
		}
		p.finish()
	})
}
