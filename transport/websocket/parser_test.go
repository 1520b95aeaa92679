package websocket

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"troupe/transport/internal/rfc6455"
)

// outcome parses bytes and returns all messages and control frames, in the order in which they were
// complete, and the error that ended the parsing.
func outcome(chunked [][]byte, window, bytesMax, framesMax int) (events []string, err error) {
	p := parser{bytesMax: bytesMax, framesMax: framesMax}
	var pending, msg []byte
	for _, chunk := range chunked {
		pending = append(pending, chunk...)
		for {
			ev, broken := p.next(pending, window)
			if broken != nil {
				return events, broken
			}
			if ev.kind == needMore {
				break
			}
			switch {
			case ev.used > len(pending) || len(ev.payload) > ev.used || ev.used == 0:
				return events, fmt.Errorf("event %+v of %d bytes", ev, len(pending))
			case ev.kind == gotControl:
				if len(ev.payload) > rfc6455.ControlMax {
					return events, fmt.Errorf("control frame of %d bytes", len(ev.payload))
				}
				events = append(events, fmt.Sprintf("%d:%s", ev.op, ev.payload))
			default:
				msg = append(msg, ev.payload...)
				if len(msg) > bytesMax {
					return events, fmt.Errorf("message of %d bytes", len(msg))
				}
				if ev.last {
					events = append(events, fmt.Sprintf("2:%s", msg))
					msg = nil
				}
			}
			pending = pending[ev.used:]
			if ev.op == rfc6455.Close {
				_, broken := parseClose(ev.payload)
				if broken != nil {
					return events, broken
				}
				return events, nil
			}
		}
	}
	return events, nil
}

// compare parses raw as a whole and in chunks, with a large and with small windows. All results must be the same.
func compare(t *testing.T, raw []byte, size int) (events []string, err error) {
	t.Helper()
	events, err = outcome([][]byte{slices.Clone(raw)}, 1<<20, 2000, 4)
	for _, window := range []int{256, 1024} {
		got, gotErr := outcome(chunks(slices.Clone(raw), size), window, 2000, 4)
		if !slices.Equal(got, events) || !errors.Is(gotErr, err) {
			t.Fatalf("chunks of %d, window %d: %q, %v; whole: %q, %v", size, window, got, gotErr, events, err)
		}
	}
	var broken *rfc6455.Violation
	if err != nil && !errors.As(err, &broken) {
		t.Fatal(err)
	}
	return events, err
}

func TestParserChunked(t *testing.T) {
	var raw []byte
	var want []string
	for _, n := range []int{0, 1, 7, 8, 31, 125, 126, 127, 300, 1010, 1019, 1999, 2000} {
		text := strings.Repeat("x", n)
		raw = append(raw, masked(0x82, []byte(text))...)
		want = append(want, "2:"+text)
	}
	raw = append(raw, masked(0x02, []byte("frag"))...)
	raw = append(raw, masked(0x89, []byte("ping"))...)
	raw = append(raw, masked(0x00, nil)...)
	raw = append(raw, masked(0x80, []byte("ment"))...)
	want = append(want, "9:ping", "2:fragment")
	for size := 1; size < 40; size++ {
		events, err := compare(t, raw, size)
		if err != nil || !slices.Equal(events, want) {
			t.Fatalf("chunks of %d: %d events, %v", size, len(events), err)
		}
	}
}

func FuzzWebSocketFrames(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add(append(binaryFrame("hello"), closeFrame(1000, "bye")...), uint8(3))
	f.Add(append(append(masked(0x02, []byte("a")), masked(0x89, []byte("p"))...), masked(0x80, []byte("b"))...), uint8(2))
	f.Add(masked(0x82, make([]byte, 1500)), uint8(100))
	f.Add([]byte{0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, uint8(1))
	f.Add([]byte{0x82, 0xFE, 0xFF, 0xFF, 1, 2, 3, 4}, uint8(1))
	f.Add(bytes.Repeat(masked(0x02, nil), 2), uint8(5))
	f.Add(append(masked(0x02, nil), bytes.Repeat(masked(0x00, nil), 6)...), uint8(5))
	f.Add([]byte{0xC2, 0x80, 0, 0, 0, 0}, uint8(1))
	f.Add(masked(0x88, []byte{3}), uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, size uint8) {
		if len(raw) > 1<<16 {
			return
		}
		events, err := compare(t, raw, int(size)+1)
		for _, ev := range events {
			if strings.HasPrefix(ev, "8:") && err == nil && len(ev) > 4 && !utf8.ValidString(ev[4:]) {
				t.Fatalf("close frame %q passed", ev)
			}
		}
	})
}
