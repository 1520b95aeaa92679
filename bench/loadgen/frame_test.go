package loadgen

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// serverFrame builds an unmasked frame.
func serverFrame(op byte, payload []byte) []byte {
	b := []byte{bitFin | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = append(b, 126, byte(n>>8), byte(n))
	default:
		b = append(b, 127, 0, 0, 0, 0, 0, byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, payload...)
}

// feed passes the stream to the parser in pieces and returns the frames.
func feed(p *frameParser, stream []byte, piece int) (frames []string, err error) {
	for len(stream) > 0 {
		n := copy(p.space(), stream[:min(piece, len(stream))])
		p.filled(n)
		stream = stream[n:]
		for {
			op, payload, ok, err := p.next()
			if err != nil {
				return frames, err
			}
			if !ok {
				break
			}
			frames = append(frames, fmt.Sprintf("%x:%x", op, payload))
		}
	}
	return frames, nil
}

func TestFrameParserInPieces(t *testing.T) {
	t.Parallel()
	var stream []byte
	var want []string
	for i, size := range []int{0, 1, 125, 126, 127, 3000, 65535, 65536, 70000, 5} {
		payload := bytes.Repeat([]byte{byte(i + 1)}, size)
		op := byte(opBinary)
		if i == 1 {
			op = opPing
		}
		stream = append(stream, serverFrame(op, payload)...)
		want = append(want, fmt.Sprintf("%x:%x", op, payload))
	}
	for _, piece := range []int{1, 2, 3, 7, 1000, 4096, len(stream)} {
		got, err := feed(new(frameParser), stream, piece)
		if err != nil {
			t.Fatalf("pieces of %d: %v", piece, err)
		}
		if len(got) != len(want) {
			t.Fatalf("pieces of %d: %d frames, want %d", piece, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("pieces of %d: frame %d differs", piece, i)
			}
		}
	}
}

func TestFrameParserRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"first fragment": {[]byte{opBinary, 1, 0}, errFrameKind},
		"continuation":   {[]byte{bitFin, 1, 0}, errFrameKind},
		"compressed":     {[]byte{bitFin | 0x40 | opBinary, 1, 0}, errFrameKind},
		"masked":         {[]byte{bitFin | opBinary, bitMask | 1, 0, 0, 0, 0, 0}, errFrameKind},
		"huge":           {[]byte{bitFin | opBinary, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, errFrameTooLarge},
	} {
		if _, err := feed(new(frameParser), c.in, len(c.in)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzFrameParser(f *testing.F) {
	f.Add(serverFrame(opBinary, make([]byte, 200)), 3)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		whole, errWhole := feed(new(frameParser), stream, max(len(stream), 1))
		parts, errParts := feed(new(frameParser), stream, max(piece&0xff, 1))
		if fmt.Sprint(whole) != fmt.Sprint(parts) || (errWhole == nil) != (errParts == nil) {
			t.Errorf("pieces change the outcome: %v %v, %v %v", whole, errWhole, parts, errParts)
		}
	})
}

// A stamped message, unmasked, must be a valid message with the current stamp, for each of several stamps.
func TestMessageStamp(t *testing.T) {
	t.Parallel()
	for size, to := range map[int]Target{stampBytes: ToRoom, 64: ToSelf, 65: ToServer, 69: ToAnything, 300: ToRoom} {
		key := [4]byte{0x11, 0x22, 0x33, 0x44}
		m := newMessage(&Config{PayloadBytes: size, To: to}, &webSocket{of: &conn{peer: 3}, key: key})
		for _, stamp := range []int64{1, 1 << 40, 0} {
			frame := bytes.Clone(m.stamped(stamp))
			head := 6
			if frame[1]&0x7f == 126 {
				head = 8
			}
			unit := frame[head:]
			mask(unit, key, 0)
			p, err := ParseUnit(unit)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := stampOf(p)
			if to == ToAnything {
				var value uint64
				value, _, ok = nextStamp(p.Payload)
				got = int64(value>>senderBits) * 1000
				stamp -= stamp % 1000
			}
			if !ok || got != stamp || p.Sender != 3 || len(p.Payload) != size {
				t.Errorf("size %d: stamp %d read as %d (%v) from %+v", size, stamp, got, ok, p)
			}
		}
	}
}
