package websocket

import (
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/transport"
)

// The listener's own sockets inherit the send buffer; those of a listener that was given get it one by one.
func TestSocketOptions(t *testing.T) {
	given, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]Options{"own": {Addr: onSockets}, "given": {Listener: given}} {
		opt.SendBufferBytes = 48 << 10
		h := serve(t, opt, newRecorder())
		if inherited := name == "own"; h.tuned != inherited {
			t.Errorf("%s listener: sockets inherit their options: %v", name, h.tuned)
		}
		_, p := h.connect(t)
		err := p.Conn.(*Conn).raw.Control(func(fd uintptr) {
			for _, o := range []struct {
				name                string
				level, option, want int
			}{
				{"send buffer", unix.SOL_SOCKET, unix.SO_SNDBUF, 2 * opt.SendBufferBytes}, // the kernel doubles it
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

// A connection that waits for a place and is gone is found by looking at its socket.
func TestAConnectionThatWaitsIsLookedAt(t *testing.T) {
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
