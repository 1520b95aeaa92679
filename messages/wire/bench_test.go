package wire

import (
	"bytes"
	"fmt"
	"testing"
)

// sizes are the payload sizes of the benchmarks: a state update and a full fast-channel packet.
var sizes = []int{64, FastPayloadMax}

func benchMessage(size int) *Header {
	return &Header{OpCode: 301, TargetGroup: AllPlayers, Sender: 1, Payload: bytes.Repeat([]byte{7}, size)}
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range sizes {
		body := benchMessage(size).Append(nil)
		b.Run(fmt.Sprintf("size=%d/codec=hand", size), func(b *testing.B) {
			b.ReportAllocs()
			var h Header
			for b.Loop() {
				if err := h.Parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, size := range sizes {
		h := benchMessage(size)
		dst := make([]byte, 0, 8192)
		b.Run(fmt.Sprintf("size=%d/codec=frame", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewFrame(h).Release()
			}
		})
		b.Run(fmt.Sprintf("size=%d/codec=hand", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = AppendMessage(dst, h)
			}
		})
	}
}
