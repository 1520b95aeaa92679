package barerelay

import (
	"bytes"
	"testing"
)

func init() { engines["epoll"] = ServeEpoll }

// Frames come in pieces, and several in one read.
func TestNextFrameTakesWholeFramesOnly(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 5, 125, 126, 70_000} {
		payload := bytes.Repeat([]byte("payload"), size/7+1)[:size]
		b := maskedFrame(payload)
		for _, cut := range []int{0, 1, 5, len(b) - 1} {
			if _, _, rest, ok := nextFrame(bytes.Clone(b[:min(cut, len(b)-1)])); ok || len(rest) != min(cut, len(b)-1) {
				t.Errorf("%d bytes: a frame of %d of %d bytes was taken", size, cut, len(b))
			}
		}
		op, got, rest, ok := nextFrame(append(b, 0x82))
		if !ok || op != 2 || !bytes.Equal(got, payload) || !bytes.Equal(rest, []byte{0x82}) {
			t.Errorf("%d bytes: %v, op %d, %d bytes, rest %x", size, ok, op, len(got), rest)
		}
	}
}

func maskedFrame(payload []byte) []byte {
	key := [4]byte{1, 2, 3, 4}
	plain := appendFrame(nil, payload)
	head := len(plain) - len(payload)
	b := append(bytes.Clone(plain[:head]), key[:]...)
	b[1] |= 0x80
	for i, c := range payload {
		b = append(b, c^key[i&3])
	}
	return b
}
