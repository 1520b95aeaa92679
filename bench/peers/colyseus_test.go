package peers

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/bench/loadgen"
	"troupe/transport/transporttest/memnet"
)

// If the matchmaker closes an idle connection, the request is repeated. An answer without a process id is an error.
func TestColyseusAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		defer network.Close()
		m := network.Machine()
		ln, err := m.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		const seat = `{"sessionId":"s","roomId":"r","processId":"p"}`
		seats := []string{seat, seat, `{"sessionId":"s","roomId":"r"}`}
		go func() {
			for n := 0; ; n++ {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				requests := bufio.NewReader(c)
				for answered := 0; ; answered++ {
					req, err := http.ReadRequest(requests)
					if err != nil || n == 0 && answered == 1 { // close the first connection instead of answering its second request
						_ = c.Close()
						break
					}
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(seats[0]), seats[0])
					seats = seats[1:]
				}
			}
		}()
		p := newColyseus().(*colyseus)
		pool := p.http.Transport.(*http.Transport)
		pool.DialContext = m.DialContext
		for player := range 2 {
			path, err := p.Path(t.Context(), ln.Addr().String(), loadgen.Login{Room: 1})
			if err != nil || path != "/p/r?sessionId=s" {
				t.Errorf("player %d: %q, %v", player, path, err)
			}
		}
		if path, err := p.Path(t.Context(), ln.Addr().String(), loadgen.Login{Room: 1}); err == nil || !strings.Contains(err.Error(), "no seat") {
			t.Errorf("a seat without a process: %q, %v", path, err)
		}
		pool.CloseIdleConnections()
		_ = ln.Close()
	})
}
