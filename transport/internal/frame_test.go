// Package internal_test tests the three packages below this folder in one binary.
package internal_test

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"

	"troupe/transport/internal/rfc6455"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each side can read the frames that the other side writes. It reports a breach for a frame of its own kind, masked or unmasked.
func TestFramesOfBothSides(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 1<<16 - 1, 1 << 16} {
		payload := bytes.Repeat([]byte("abc"), n/3+1)[:n]
		for _, masked := range []bool{false, true} {
			frame := append(rfc6455.AppendHeader(nil, rfc6455.Binary, n), payload...)
			if masked {
				frame = rfc6455.AppendMasked(nil, rfc6455.Binary, 0xFA030201, payload)
			} else if size := rfc6455.HeaderSizeOf(n); len(frame) != size+n {
				t.Errorf("%d bytes: a header of %d, not %d", n, len(frame)-n, size)
			}
			h, err := rfc6455.ParseHeader(frame, masked)
			if err != nil || !h.Fin || h.Op != rfc6455.Binary || h.Length != uint64(n) || h.Size != rfc6455.HeaderSize(frame[1]) || h.Size+n != len(frame) {
				t.Fatalf("%d bytes, masked %v: %+v, %v", n, masked, h, err)
			}
			for cut := range h.Size {
				if h, err := rfc6455.ParseHeader(frame[:cut], masked); h.Size != 0 || err != nil {
					t.Errorf("%d of a header of %d bytes: %+v, %v", cut, rfc6455.HeaderSize(frame[1]), h, err)
				}
			}
			if rfc6455.Mask(frame[h.Size:], h.Mask); !bytes.Equal(frame[h.Size:], payload) {
				t.Errorf("%d bytes, masked %v, come back different", n, masked)
			}
			if _, err := rfc6455.ParseHeader(frame, !masked); err == nil {
				t.Errorf("masked %v is taken for the other side's", masked)
			}
		}
	}
}

func TestMask(t *testing.T) {
	key := []byte{1, 2, 3, 250}
	mask := uint32(1) | 2<<8 | 3<<16 | 250<<24
	for n := range 100 {
		for cut := range n + 1 {
			b := bytes.Repeat([]byte{0x5A}, n)
			rfc6455.Mask(b[cut:], rfc6455.Mask(b[:cut], mask))
			for i := range b {
				if b[i] != 0x5A^key[i&3] {
					t.Fatalf("length %d, cut %d: byte %d is %#x", n, cut, i, b[i])
				}
			}
		}
	}
}

// This is the example of RFC 6455 section 1.3.
func TestAccept(t *testing.T) {
	if got := rfc6455.AppendAccept([]byte("x"), []byte("dGhlIHNhbXBsZSBub25jZQ==")); string(got) != "xs3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("%q", got)
	}
}
