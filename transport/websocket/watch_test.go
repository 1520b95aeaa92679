package websocket

import (
	"io"
	"net"
	"testing"
	"time"
)

// A write that does not have to wait costs what the write costs: what the kernel
// knows of the peer's progress is asked for only once a write has waited.
func TestAWriteUnderTLSCostsNoMore(t *testing.T) {
	skipRace(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	p, b := &patient{Conn: nc, timeout: time.Minute}, make([]byte, 100)
	if n := testing.AllocsPerRun(200, func() {
		if _, err := p.Write(b); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
