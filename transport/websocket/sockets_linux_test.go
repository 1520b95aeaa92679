package websocket

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/transport"
	"troupe/transport/transporttest"
)

// Behaviour that only Linux sockets show.
func TestOnLinuxSockets(t *testing.T) {
	for name, shows := range map[string]func(t *testing.T){
		"options":                 hasOptions,
		"a connection that waits": isLookedAt,
		"a ping behind much else": pingIsThereOnceItsSystemHasIt,
		"a failed write, ws":      func(t *testing.T) { failedWriteLosesNoInput(t, false) },
		"a failed write, wss":     func(t *testing.T) { failedWriteLosesNoInput(t, true) },
	} {
		t.Run(name, shows)
	}
}

// Sockets of the package's own listener inherit the send buffer. For a given listener, it is set on each socket.
func hasOptions(t *testing.T) {
	given, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]Options{"own": {Addr: onSockets}, "given": {Listener: given}} {
		h := serve(t, opt, newRecorder())
		if inherited := name == "own"; h.tuned != inherited {
			t.Errorf("%s listener: sockets inherit their options: %v", name, h.tuned)
		}
		_, p := h.connect(t)
		if p.Conn.(*Conn).RoundTrip() <= 0 {
			t.Errorf("%s listener: the kernel knows no round trip", name)
		}
		err := p.Conn.(*Conn).raw.Control(func(fd uintptr) {
			for _, o := range []struct {
				name                string
				level, option, want int
			}{
				{"send buffer", unix.SOL_SOCKET, unix.SO_SNDBUF, 2 * sendBufferBytes}, // the kernel doubles it
				{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
				{"keep-alive", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0},
				{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 0}, // it would cut a slow reader
			} {
				if got, err := unix.GetsockoptInt(int(fd), o.level, o.option); got != o.want || err != nil {
					t.Errorf("%s listener: %s is %d, want %d (%v)", name, o.name, got, o.want, err)
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A waiting connection that has ended is detected from the state of its socket.
func isLookedAt(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	theirs, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	v := &handshakingConn{Conn: ours}
	turns := func(to transport.Presence) {
		t.Helper()
		for late := time.Now().Add(patience); v.Peek() != to; runtime.Gosched() {
			if time.Now().After(late) {
				t.Fatalf("%v, want %v", v.Peek(), to)
			}
		}
	}
	turns(transport.PeerSilent)
	if _, err := theirs.Write([]byte("G")); err != nil {
		t.Fatal(err)
	}
	turns(transport.PeerSpoke)
	_ = theirs.Close()
	turns(transport.PeerGone)
}

// A ping behind much other data has not reached the peer yet. The kernel's count of acknowledged bytes shows
// that, and also shows the progress meanwhile.
func pingIsThereOnceItsSystemHasIt(t *testing.T) {
	h := serve(t, Options{Addr: onSockets}, newRecorder())
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
	for now := before; now <= before; { // until more bytes have reached the peer
		if _, err := io.CopyN(io.Discard, cl.br, 300); err != nil {
			t.Fatal(err)
		}
		if now, ping = p.Reached(); ping {
			t.Fatalf("the ping is there, with %d bytes after %d", now, before)
		}
	}
	drained := make(chan struct{})
	go func() { // the content does not matter
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

// A client has sent its last messages and a close frame, and is gone. The handler is still busy. A write of the host
// that fails in this situation must not lose the client's input.
func failedWriteLosesNoInput(t *testing.T, secure bool) {
	r := newRecorder()
	busy, free := make(chan struct{}), make(chan struct{})
	r.onUnit = func(_ transport.Conn, unit []byte) {
		if string(unit) == "first" {
			close(busy)
			<-free
		}
	}
	var cl *client
	var h *host
	if secure {
		cert, _ := transporttest.Trusted()
		h = serve(t, Options{Addr: onSockets, TLS: &tls.Config{Certificates: []tls.Certificate{*cert}}}, r)
		cl = h.secure(t, new(tls.Config))
	} else {
		h = serve(t, Options{Addr: onSockets}, r)
		cl = h.dial(t, "/websocket")
	}
	p := h.accepted(t)
	cl.write(binaryFrame("first"))
	<-busy
	cl.write(append(binaryFrame("last"), closeFrame(1000, "")...))
	reset(cl.conn) // as when a program ends with unread input
	c := p.Conn.(*Conn)
	failed := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.out.err != nil
	}
	for late := time.Now().Add(patience); !failed(); p.Ping(nil) {
		if time.Now().After(late) {
			t.Fatal("writes to a peer that has reset the connection do not fail")
		}
	}
	c.awaitWriter() // until it has handled the failure
	close(free)
	end := p.awaitEnd(t)
	if want := []string{"first", "last"}; !slices.Equal(p.units, want) {
		t.Errorf("handed up %q, want %q", p.units, want)
	}
	if !end.Clean || end.Code != 1000 {
		t.Errorf("end %+v: the leave was lost", end)
	}
}
