package websocket

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A ping behind much else is not at the peer yet, and what the peer takes meanwhile is seen:
// the kernel counts what the peer's system has acknowledged.
func TestAPingIsAtThePeerOnceItsSystemHasIt(t *testing.T) {
	h := serve(t, Options{Addr: onSockets, SendBufferBytes: 32 << 10}, newRecorder())
	cl, p := h.connect(t)
	_ = cl.conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	src := new(queue)
	p.SetSource(src)
	for range 3000 {
		src.put(frame(make([]byte, 500)))
	}
	p.Flush()
	if _, ping := p.Reached(); !ping {
		t.Error("a ping is under way that was never sent")
	}
	p.Ping([]byte("7"))
	before, ping := p.Reached()
	if ping {
		t.Fatal("the ping is there before what was sent before it")
	}
	for now := before; now <= before; { // until more is at the peer
		if _, err := io.CopyN(io.Discard, cl.br, 300); err != nil {
			t.Fatal(err)
		}
		if now, ping = p.Reached(); ping {
			t.Fatalf("the ping is there, with %d bytes after %d", now, before)
		}
	}
	drained := make(chan struct{})
	go func() { // what is read is of no interest
		defer close(drained)
		_, _ = io.Copy(io.Discard, cl.br)
	}()
	for late := time.Now().Add(patience); !ping; _, ping = p.Reached() {
		if time.Now().After(late) {
			t.Fatal("the ping never gets there")
		}
	}
	cl.write(masked(0x8A, []byte("7")))
	p.await(t, "pong", func() bool { return strings.Join(p.pongs, "") == "7" })
	if _, ping := p.Reached(); !ping {
		t.Error("an answered ping is under way")
	}
	_ = cl.conn.Close()
	<-drained
	p.awaitEnd(t)
}
