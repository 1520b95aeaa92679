package wire

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestSplitUnit(t *testing.T) {
	for _, c := range []struct {
		name, in string // hex
		want     string // hex
		err      error
	}{
		{name: "empty packet", in: "00", want: ""},
		{name: "one byte", in: "01aa", want: "aa"},
		{name: "trailing bytes are ignored", in: "01aabbcc", want: "aa"},
		{name: "long form of a short length", in: "8180808000aa", want: "aa"},
		{name: "nothing", in: "", err: ErrTruncated},
		{name: "inside the length", in: "80", err: ErrTruncated},
		{name: "inside a long length", in: "80808080", err: ErrTruncated},
		{name: "length of six bytes", in: "818080808000aa", err: ErrLengthVarint},
		{name: "length above 32 bits", in: "ffffffff1f", err: ErrLengthVarint},
		{name: "largest 32-bit length", in: "ffffffff0f", err: ErrUnitTooLong},
		{name: "length lies", in: "02aa", err: ErrLengthLies},
		{name: "length lies a lot", in: "808040aa", err: ErrLengthLies},
		{name: "above the limit", in: "818040aa", err: ErrUnitTooLong},
	} {
		t.Run(c.name, func(t *testing.T) {
			packet, err := SplitUnit(unhex(t, c.in))
			if err != c.err || !bytes.Equal(packet, unhex(t, c.want)) {
				t.Fatalf("got %x, %v; want %s, %v", packet, err, c.want, c.err)
			}
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Errorf("%v is not in the family of ErrMalformed", err)
			}
		})
	}
}

// A packet's slice cannot be extended into the bytes that follow it.
func TestSplitUnitCapsThePacket(t *testing.T) {
	in := []byte{1, 0xaa, 0xbb}
	packet, err := SplitUnit(in)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(packet, 0xff)
	if in[2] != 0xbb {
		t.Error("appending to the packet wrote behind it")
	}
}

func FuzzUnit(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(f, v.unit))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		packet, err := SplitUnit(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if want, n := protowire.ConsumeBytes(b); n < 0 || !bytes.Equal(packet, want) {
			t.Fatalf("packet %x, protowire says %x", packet, want)
		}
		unit := protowire.AppendBytes(nil, packet)
		if len(unit) > len(b) {
			t.Fatalf("unit of %d bytes grew to %d", len(b), len(unit))
		}
		again, err := SplitUnit(append(unit, 0x55))
		if err != nil || !bytes.Equal(again, packet) {
			t.Fatalf("round trip gives %x, %v", again, err)
		}
		for cut := range min(len(unit), 64) {
			if _, err := SplitUnit(unit[:cut]); err != ErrTruncated && err != ErrLengthLies {
				t.Fatalf("the first %d bytes give %v", cut, err)
			}
		}
	})
}
