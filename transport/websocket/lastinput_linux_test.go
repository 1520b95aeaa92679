package websocket

import (
	"bufio"
	"crypto/tls"
	"net"
	"slices"
	"testing"
	"time"

	"troupe/transport"
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
			var opt Options
			if secure {
				opt.TLS = &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}
			}
			h := serve(t, opt, r)
			tcp, err := net.Dial("tcp", h.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer tcp.Close()
			_ = tcp.SetDeadline(time.Now().Add(patience))
			conn := tcp
			if secure {
				conn = tls.Client(tcp, &tls.Config{InsecureSkipVerify: true})
			}
			cl := &client{t: t, conn: conn, br: bufio.NewReader(conn)}
			cl.write([]byte(request("/websocket")))
			cl.upgraded()
			p := h.accepted(t)
			cl.write(binaryFrame("first"))
			<-busy
			cl.write(append(binaryFrame("last"), closeFrame(1000, "")...))
			_ = tcp.(*net.TCPConn).SetLinger(0) // a reset, as of a program that ends with unread input
			_ = tcp.Close()
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
