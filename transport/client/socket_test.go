package client

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"troupe/transport/internal/rfc6455"
)

// frame returns one frame of a server.
func frame(head byte, payload string) string {
	b := []byte{head}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return string(b) + payload
}

func reader(data string) *socket { return &socket{br: bufio.NewReader(strings.NewReader(data))} }

func TestSocketReads(t *testing.T) {
	long, longer := strings.Repeat("m", 300), strings.Repeat("x", 70_000)
	s := reader(frame(0x82, "one") + frame(0x82, "") + frame(0x81, "text") + frame(0x82, long) + frame(0x82, longer) +
		frame(0x02, "par") + frame(0x89, "ping") + frame(0x00, "") + frame(0x8a, "") + frame(0x80, "ts") +
		frame(0x88, "\x0f\xa9slow"))
	for i, want := range []struct {
		op      rfc6455.Opcode
		payload string
	}{
		{rfc6455.Binary, "one"}, {rfc6455.Binary, ""}, {rfc6455.Text, "text"}, {rfc6455.Binary, long}, {rfc6455.Binary, longer},
		{rfc6455.Ping, "ping"}, {rfc6455.Pong, ""}, {rfc6455.Binary, "parts"}, {rfc6455.Close, "\x0f\xa9slow"},
	} {
		op, payload, err := s.read()
		if err != nil || op != want.op || string(payload) != want.payload {
			t.Fatalf("read %d: got %#x, %d bytes, %v; want %#x, %d bytes", i, op, len(payload), err, want.op, len(want.payload))
		}
	}
	if _, _, err := s.read(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestSocketRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"masked":             "\x82\x80\x00\x00\x00\x00",
		"reserved bit":       "\xc2\x00",
		"reserved op code":   "\x83\x00",
		"long ping":          "\x89\x7e\x00\x7e" + strings.Repeat("p", 126),
		"ping in parts":      "\x09\x00",
		"no beginning":       "\x80\x00",
		"beginning twice":    "\x02\x01a\x82\x01b",
		"too large":          "\x82\x7f\x00\x00\x00\x00\x7f\x00\x00\x00",
		"too large in parts": frame(0x02, strings.Repeat("a", messageMax)) + frame(0x80, "b"),
		"long size of few":   "\x82\x7e\x00\x01a",
		"negative size":      "\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		var err error
		for s := reader(data); err == nil; {
			_, _, err = s.read()
		}
		if !errors.Is(err, errProtocol) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCloseFrame(t *testing.T) {
	for payload, want := range map[string]End{
		"":                 {Code: 1005},
		"\x03":             {Code: 1005},
		"\x03\xe8":         {Code: 1000},
		"\x0f\xa1taken":    {Code: 4001, Reason: "taken"},
		"\x0f\xa1\xff\x00": {Code: 4001},
	} {
		code, reason := closeFrame([]byte(payload))
		if code != want.Code || reason != want.Reason {
			t.Errorf("%q: got %d %q", payload, code, reason)
		}
	}
}

func FuzzSocketRead(f *testing.F) {
	f.Add([]byte(frame(0x82, "one") + frame(0x02, "par") + frame(0x89, "ping") + frame(0x80, "ts")))
	f.Add([]byte(frame(0x88, "\x0f\xa9slow")))
	f.Add([]byte("\x82\x7f\x00\x00\x00\x00\x00\x10\x00\x00abc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &socket{br: bufio.NewReader(bytes.NewReader(data))}
		for {
			op, payload, err := s.read()
			if err != nil {
				return
			}
			if len(payload) > len(data) {
				t.Fatalf("op %#x with %d bytes out of %d", op, len(payload), len(data))
			}
		}
	})
}
