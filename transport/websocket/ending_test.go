package websocket

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
)

func TestPeerCloses(t *testing.T) {
	cases := []struct {
		name   string
		opt    Options
		raw    []byte
		answer string
		clean  bool
		code   uint16
	}{
		{"1000", Options{}, closeFrame(1000, "bye"), "\x03\xe8", true, 1000},
		{"1001", Options{}, closeFrame(1001, ""), "\x03\xe9", false, 1001},
		{"4999", Options{}, closeFrame(4999, ""), "\x13\x87", false, 4999},
		{"no code", Options{}, masked(0x88, nil), "", false, 0},
		{"no code is a leave", Options{EmptyCloseIsLeave: true}, masked(0x88, nil), "", true, 0},
		{"1000 inside a message", Options{}, append(masked(0x02, []byte("a")), closeFrame(1000, "")...), "\x03\xe8", true, 1000},
		{"1000, then rubbish", Options{}, append(closeFrame(1000, ""), masked(0x83, nil)...), "\x03\xe8", true, 1000},
	}
	for _, tc := range cases {
		inBubble(t, tc.name, func(t *testing.T) {
			h := serve(t, tc.opt, newRecorder())
			cl, p := h.connect(t)
			src := new(queue)
			p.SetSource(src)
			src.put(frame(nil)) // queued but not flushed: must not be written after a close frame
			cl.write(tc.raw)
			cl.expect(0x88, tc.answer)
			cl.expectEnd()
			end := p.awaitEnd(t)
			if end.Clean != tc.clean || end.Code != tc.code || end.ByHost != 0 || end.Err != nil {
				t.Errorf("end %+v", end)
			}
			class := counters.ClosedLost
			if tc.clean {
				class = counters.ClosedByPeer
			}
			if h.count.Closed.Get(class) != 1 || h.count.Closed.Total() != 1 {
				t.Errorf("class %v not counted", class)
			}
			if src.len() != 1 {
				t.Error("drained after the peer's close frame")
			}
		})
	}
}

// The end of the stream is not a leave, even if a close frame without a code is one.
func TestPeerVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{EmptyCloseIsLeave: true}, newRecorder())
		cl, p := h.connect(t)
		_ = cl.conn.Close()
		if end := p.awaitEnd(t); end.Clean || end.Code != 0 || end.ByHost != 0 || !errors.Is(end.Err, io.EOF) {
			t.Errorf("end %+v", end)
		}
		if h.count.Closed.Get(counters.ClosedLost) != 1 {
			t.Error("not counted as lost")
		}
	})
}

// A panic in code that a connection calls ends only that connection. It does not matter which goroutine makes the call:
// the connection's reader, the game session's goroutine that flushes, or the connection's writer.
func TestAPanicCostsTheConnection(t *testing.T) {
	for name, cause := range map[string]func(cl *client, p *peer){
		"handler": func(cl *client, _ *peer) {
			cl.write(binaryFrame("boom"))
			cl.expect(0x88, "\x03\xf3internal_error")
			_ = cl.conn.Close()
		},
		"flush": func(_ *client, p *peer) {
			p.SetSource(&queue{onBusy: func() { panic("a bug") }})
			p.Flush()
		},
		"writer": func(_ *client, p *peer) {
			p.SetSource(&queue{onBusy: func() { panic("a bug") }})
			p.Close(messages.CloseGoingAway)
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			r := newRecorder()
			r.onUnit = func(_ transport.Conn, unit []byte) {
				if string(unit) == "boom" {
					panic("boom")
				}
			}
			h := serve(t, Options{}, r)
			cl, p := h.connect(t)
			other, q := h.connect(t)
			cause(cl, p)
			if end := p.awaitEnd(t); end.Clean || end.ByHost == 0 || name == "handler" && end.ByHost != messages.CloseInternalError {
				t.Errorf("end %+v", end)
			}
			p.Flush()
			p.SetSource(nil) // does not block: no lock is held
			if n := h.count.ConnectionPanics.Load(); n != 1 {
				t.Errorf("%d panics counted", n)
			}
			other.write(binaryFrame("fine"))
			q.await(t, "other connection", func() bool { return len(q.units) == 1 })
		})
	}
}

// endsAtOnce checks that the write side is shut down right after the close frame. So a client that waits for the end of
// the stream need not wait for CloseLinger.
func endsAtOnce(t *testing.T, h *host) {
	cl, p := h.connect(t)
	cl.write(append(masked(0x83, nil), make([]byte, 100000)...)) // unread input must not cause a reset
	cl.expectClose(1002)
	if _, err := cl.br.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the close frame: %v", err)
	}
	_ = cl.conn.Close()
	p.awaitEnd(t)
}

func TestViolationEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		endsAtOnce(t, serve(t, Options{CloseLinger: time.Hour}, newRecorder()))
		if took := time.Since(begun); took != 0 {
			t.Errorf("after %v", took)
		}
	})
}
