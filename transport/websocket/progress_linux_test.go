package websocket

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// backlogged is a connection with much to be written, in small frames, whose peer has taken
// nothing yet and has little room.
func backlogged(t *testing.T, timeout time.Duration) (cl *client, p *peer) {
	h := serve(t, Options{WriteTimeout: timeout, SendBufferBytes: 32 << 10}, newRecorder())
	cl, p = h.connect(t)
	_ = cl.conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	src := new(queue)
	p.SetSource(src)
	for range 3000 {
		src.put(frame(make([]byte, 500)))
	}
	p.Flush()
	return cl, p
}

// trickle has the peer read all the time, so much at a time. Rest is the longest time in
// which the machine did not let it.
func (cl *client) trickle(bytes int, d time.Duration) (rest time.Duration, err error) {
	b, last := make([]byte, bytes), time.Now()
	for end := last.Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		_, err := io.ReadFull(cl.br, b)
		rest, last = max(rest, time.Since(last)), time.Now()
		if err != nil {
			return rest, err
		}
	}
	return rest, nil
}

// A reader that makes progress is not cut, by the write timeout or by the kernel, however
// long what is at the head of the queue takes. One that has stopped is.
func TestAReaderThatMakesProgressIsNotCut(t *testing.T) {
	t.Parallel()
	timeout := 400 * time.Millisecond
	var p *peer
	for tries := 4; ; tries-- {
		var cl *client
		cl, p = backlogged(t, timeout)
		rest, err := cl.trickle(1200, 4*timeout)
		if err == nil {
			break
		}
		if tries == 0 {
			t.Fatalf("cut, after it had rested for %v: %v", rest, err)
		}
		t.Logf("again, with a longer limit: cut after the reader had rested for %v: the machine may have held it up, or the host", rest)
		timeout *= 2
	}
	begun := time.Now()
	if end := p.awaitEnd(t); end.ByHost != messages.CloseWriteTimeout {
		t.Errorf("the one that has stopped: %+v", end)
	}
	if took := time.Since(begun); took < timeout/2 {
		t.Errorf("cut after %v", took)
	}
}

// A ping behind much else is not at the peer yet, and what the peer takes meanwhile is
// seen.
func TestAPingIsAtThePeerOnceItsSystemHasIt(t *testing.T) {
	t.Parallel()
	cl, p := backlogged(t, patience)
	if _, ping := p.Reached(); !ping {
		t.Error("a ping is under way that was never sent")
	}
	p.Ping([]byte("7"))
	before, ping := p.Reached()
	if ping {
		t.Fatal("the ping is there before what was sent before it")
	}
	eventually(t, "more is at the peer", func() bool {
		if _, err := cl.trickle(300, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		now, ping := p.Reached()
		if ping {
			t.Fatalf("the ping is there, with %d bytes after %d", now, before)
		}
		return now > before
	})
	cl.br = nil
	drained := make(chan struct{})
	go func() { // what is read is of no interest
		defer close(drained)
		_, _ = io.Copy(io.Discard, cl.conn)
	}()
	eventually(t, "the ping is there", func() bool { _, ping := p.Reached(); return ping })
	cl.write(masked(0x8A, []byte("7")))
	p.await(t, "pong", func() bool { return strings.Join(p.pongs, "") == "7" })
	if _, ping := p.Reached(); !ping {
		t.Error("an answered ping is under way")
	}
	_ = cl.conn.Close()
	<-drained
	p.awaitEnd(t)
}
