package websocket

import (
	"crypto/tls"
	"slices"
	"testing"
	"time"

	"troupe/transport"
	"troupe/transport/transporttest"
)

// TestFailedWriteLosesNoInput: a client's last messages and its leave have arrived, the handler is busy,
// and the client is gone when the host writes to it.
func TestFailedWriteLosesNoInput(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "ws", true: "wss"}[secure], func(t *testing.T) {
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
			reset(cl.conn) // as of a program that ends with unread input
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
			c.awaitWriter() // until it has done what follows the failure
			close(free)
			end := p.awaitEnd(t)
			if want := []string{"first", "last"}; !slices.Equal(p.units, want) {
				t.Errorf("handed up %q, want %q", p.units, want)
			}
			if !end.Clean || end.Code != 1000 {
				t.Errorf("end %+v: the leave was lost", end)
			}
		})
	}
}
