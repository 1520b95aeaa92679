package websocket

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// rfcCases are raw bytes from a client and the expected result: the messages that the handler gets, and
// the code with which the host closes, or 0.
var rfcCases = []struct {
	name  string
	raw   [][]byte
	units []string
	code  uint16
}{
	{"empty binary message", [][]byte{binaryFrame("")}, []string{""}, 0},
	{"length 125", [][]byte{binaryFrame(strings.Repeat("a", 125))}, []string{strings.Repeat("a", 125)}, 0},
	{"length 126", [][]byte{binaryFrame(strings.Repeat("a", 126))}, []string{strings.Repeat("a", 126)}, 0},
	{"length 127", [][]byte{binaryFrame(strings.Repeat("a", 127))}, []string{strings.Repeat("a", 127)}, 0},
	{"length 1016 fits the buffer", [][]byte{binaryFrame(strings.Repeat("a", 1016))}, []string{strings.Repeat("a", 1016)}, 0},
	{"length 1017 does not", [][]byte{binaryFrame(strings.Repeat("a", 1017))}, []string{strings.Repeat("a", 1017)}, 0},
	{"length 65535", [][]byte{binaryFrame(strings.Repeat("a", 65535))}, []string{strings.Repeat("a", 65535)}, 0},
	{"length 65536", [][]byte{binaryFrame(strings.Repeat("a", 65536))}, []string{strings.Repeat("a", 65536)}, 0},
	{"two in one write", [][]byte{append(binaryFrame("a"), binaryFrame("b")...)}, []string{"a", "b"}, 0},
	{"fragments", [][]byte{masked(0x02, []byte("a")), masked(0x00, []byte("b")), masked(0x80, []byte("c"))}, []string{"abc"}, 0},
	{"empty fragments", [][]byte{masked(0x02, nil), masked(0x00, nil), masked(0x80, nil)}, []string{""}, 0},
	{"64 fragments", [][]byte{masked(0x02, []byte("a")), slices.Repeat(masked(0x00, []byte("b")), 62), masked(0x80, []byte("c"))}, []string{"a" + strings.Repeat("b", 62) + "c"}, 0},
	{"control frames inside", [][]byte{masked(0x02, []byte("a")), masked(0x89, nil), masked(0x8A, []byte("x")), masked(0x80, []byte("b"))}, []string{"ab"}, 0},
	{"pong nobody asked for", [][]byte{masked(0x8A, []byte("x")), binaryFrame("a")}, []string{"a"}, 0},
	{"large then small", [][]byte{append(binaryFrame(strings.Repeat("z", 5000)), binaryFrame("s")...)}, []string{strings.Repeat("z", 5000), "s"}, 0},

	{"no mask", [][]byte{{0x82, 0x01, 'a'}}, nil, 1002},
	{"RSV1", [][]byte{masked(0xC2, []byte("a"))}, nil, 1002},
	{"RSV2", [][]byte{masked(0xA2, []byte("a"))}, nil, 1002},
	{"RSV3", [][]byte{masked(0x92, []byte("a"))}, nil, 1002},
	{"RSV1 on a continuation", [][]byte{masked(0x02, []byte("a")), masked(0xC0, []byte("a"))}, nil, 1002},
	{"op code 3", [][]byte{masked(0x83, nil)}, nil, 1002},
	{"op code 7", [][]byte{masked(0x87, nil)}, nil, 1002},
	{"op code 11", [][]byte{masked(0x8B, nil)}, nil, 1002},
	{"op code 15", [][]byte{masked(0x8F, nil)}, nil, 1002},
	{"ping of 126 bytes", [][]byte{masked(0x89, make([]byte, 126))}, nil, 1002},
	{"close of 126 bytes", [][]byte{masked(0x88, make([]byte, 126))}, nil, 1002},
	{"fragmented ping", [][]byte{masked(0x09, nil)}, nil, 1002},
	{"fragmented close", [][]byte{masked(0x08, nil)}, nil, 1002},
	{"continuation of nothing", [][]byte{masked(0x80, []byte("a"))}, nil, 1002},
	{"continuation after the end", [][]byte{binaryFrame("a"), masked(0x00, []byte("b"))}, []string{"a"}, 1002},
	{"message inside a message", [][]byte{masked(0x02, []byte("a")), masked(0x82, []byte("b"))}, nil, 1002},
	{"text inside a message", [][]byte{masked(0x02, []byte("a")), masked(0x01, []byte("b"))}, nil, 1003},
	{"length with the top bit", [][]byte{{0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4}}, nil, 1002},
	{"16-bit length of 125", [][]byte{{0x82, 0xFE, 0, 125, 1, 2, 3, 4}}, nil, 1002},
	{"64-bit length of 65535", [][]byte{{0x82, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 1, 2, 3, 4}}, nil, 1002},
	{"65537 bytes", [][]byte{{0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4}}, nil, 1009},
	{"a claim of a terabyte", [][]byte{{0x82, 0xFF, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4}}, nil, 1009},
	{"65537 bytes in fragments", [][]byte{masked(0x02, make([]byte, 65536)), masked(0x00, []byte("a"))}, nil, 1009},
	{"65 fragments", [][]byte{masked(0x02, nil), slices.Repeat(masked(0x00, nil), 64)}, nil, 1009},
	{"text", [][]byte{masked(0x81, []byte("{}"))}, nil, 1003}, // RT-5, also for the next three
	{"empty text", [][]byte{binaryFrame("a"), masked(0x81, nil)}, []string{"a"}, 1003},
	{"fragmented text", [][]byte{masked(0x01, []byte("a"))}, nil, 1003},
	{"text that claims 2^32 bytes", [][]byte{{0x81, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4}}, nil, 1003},
	{"close with half a code", [][]byte{masked(0x88, []byte{3})}, nil, 1002},
	{"close 999", [][]byte{closeFrame(999, "")}, nil, 1002},
	{"close 1004", [][]byte{closeFrame(1004, "")}, nil, 1002},
	{"close 1005", [][]byte{closeFrame(1005, "")}, nil, 1002},
	{"close 1006", [][]byte{closeFrame(1006, "")}, nil, 1002},
	{"close 1015", [][]byte{closeFrame(1015, "")}, nil, 1002},
	{"close 2999", [][]byte{closeFrame(2999, "")}, nil, 1002},
	{"close 5000", [][]byte{closeFrame(5000, "")}, nil, 1002},
	{"close reason that is not UTF-8", [][]byte{closeFrame(1000, "\xff")}, nil, 1007},
	{"unmasked close", [][]byte{{0x88, 0x00}}, nil, 1002},
	{"nothing after a violation", [][]byte{masked(0x83, nil), binaryFrame("late")}, nil, 1002},
}

// RL-202.
func TestRFC6455(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { followsRFC6455(t, serve(t, Options{}, newRecorder()), true) })
}

// Non-blocking reads and writes, which exist only on kernel sockets, behave the same as blocking ones.
func TestOnSockets(t *testing.T) {
	h := serve(t, Options{Addr: onSockets}, newRecorder())
	followsRFC6455(t, h, false)
	manyProducers(t, h)
	outlastsASlowReader(t, serve(t, Options{Addr: onSockets}, newRecorder()))
	flushesEverySize(t, serve(t, Options{Addr: onSockets}, newRecorder()))
	endsAtOnce(t, serve(t, Options{Addr: onSockets, CloseLinger: time.Hour}, newRecorder()))
}

// followsRFC6455 sends each case in one piece, and with bytes also byte by byte.
func followsRFC6455(t *testing.T, h *host, bytes bool) {
	for _, tc := range rfcCases {
		raw := slices.Concat(tc.raw...)
		for _, size := range []int{len(raw), 1} {
			if size == 1 && (!bytes || len(raw) > 8192) {
				continue
			}
			cl, p := h.connect(t)
			if size > 1 { // the rules are the same before and after the login
				p.LoggedIn()
			}
			for _, chunk := range chunks(raw, size) {
				if _, err := cl.conn.Write(chunk); err != nil {
					break // the host has closed because of a violation
				}
			}
			if tc.code != 0 {
				cl.expectClose(tc.code)
				_ = cl.conn.Close()
				if end := p.awaitEnd(t); end.Clean || uint16(end.ByHost) != tc.code || end.Err == nil {
					t.Errorf("%s: end %+v", tc.name, end)
				}
			} else {
				p.await(t, tc.name, func() bool { return len(p.units) >= len(tc.units) })
				cl.write(closeFrame(1000, ""))
				if end := p.awaitEnd(t); !end.Clean {
					t.Errorf("%s: end %+v", tc.name, end)
				}
			}
			if !slices.Equal(p.units, tc.units) {
				t.Errorf("%s, chunks of %d: %d units %.100q", tc.name, size, len(p.units), p.units)
			}
		}
	}
	if h.count.Closed.Total() != h.count.Accepted.Total() {
		t.Errorf("closed %d of %d", h.count.Closed.Total(), h.count.Accepted.Total())
	}
}

// RT-10.
func TestFragmentsAreReassembledAndPingsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		cl, p := h.connect(t)
		cl.write(masked(0x02, []byte("first ")))
		cl.write(masked(0x89, []byte("are you there")))
		cl.expect(0x8A, "are you there") // answered before the message is complete
		cl.write(masked(0x00, []byte("second ")))
		cl.write(masked(0x89, nil))
		cl.expect(0x8A, "")
		cl.write(masked(0x80, []byte("third")))
		p.await(t, "message", func() bool { return len(p.units) == 1 })
		if p.units[0] != "first second third" || p.alive < 2 || len(p.pongs) != 0 {
			t.Errorf("units %q, alive %d, pongs %q", p.units, p.alive, p.pongs)
		}
	})
}

// TestBodyGrows sends a large message slowly. The buffer must grow with the bytes that have arrived.
func TestBodyGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		cl, p := h.connect(t)
		p.LoggedIn()
		want := strings.Repeat("0123456789abcdef", 4096)
		for _, chunk := range chunks(binaryFrame(want), 5000) {
			cl.write(chunk)
			time.Sleep(time.Millisecond)
		}
		p.await(t, "message", func() bool { return len(p.units) == 1 })
		if p.units[0] != want {
			t.Error("message damaged")
		}
		if p.alive == 0 {
			t.Error("parts of a large message are no sign of life")
		}
	})
}
