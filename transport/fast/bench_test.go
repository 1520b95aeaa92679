package fast

import (
	"fmt"
	"testing"

	"troupe/messages"
	"troupe/messages/wire"
)

// BenchmarkSend is Send to received by the client's socket, in windows that the
// kernel's buffers hold.
func BenchmarkSend(b *testing.B) {
	for _, size := range []int{100, 1200} {
		b.Run(fmt.Sprint("size=", size), func(b *testing.B) {
			h := newHost(b, onSockets)
			a, _ := h.open(1, local)
			c := h.confirm(a, "127.0.0.1")
			f := wire.NewFrame(&wire.Header{OpCode: 7, Sender: 2, TargetGroup: -1, Payload: make([]byte, size)})
			defer f.Release()
			buf := make([]byte, datagramMax)
			b.SetBytes(int64(f.Len()))
			b.ReportAllocs()
			const window = 32
			sent, got := 0, 0
			for b.Loop() {
				for ; sent-got < window; sent++ {
					if !a.Send(f) {
						b.Fatal("not sent")
					}
				}
				if _, _, err := c.conn.ReadFromUDPAddrPort(buf); err != nil {
					b.Fatal(err)
				}
				got++
			}
		})
	}
}

// BenchmarkEnqueue is Send alone, with the encoding but without the kernel.
func BenchmarkEnqueue(b *testing.B) {
	p, conn, a := upPool(b)
	f := wire.NewFrame(&wire.Header{OpCode: 7, Sender: 2, TargetGroup: -1, Payload: make([]byte, 100)})
	defer f.Release()
	w := newWriter(p.main)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if !a.Send(f) {
			b.Fatal("not sent")
		}
		if n%writeBatch == writeBatch-1 {
			w.round()
		}
	}
	_ = conn
}

// BenchmarkDemux is one inbound datagram from the read buffer to the handler.
func BenchmarkDemux(b *testing.B) {
	for _, peers := range []int{1, 1000} {
		for _, size := range []int{100, 1200} {
			b.Run(fmt.Sprintf("peers=%d/size=%d", peers, size), func(b *testing.B) {
				p, _ := quietPool(b, nil)
				for peer := 1; peer <= peers; peer++ {
					if _, err := p.Open(messages.PeerID(peer), local, discardAll{}); err != nil {
						b.Fatal(err)
					}
				}
				p.main.handle(clientAddr(1), wire.AppendUDPConnect(nil, 1, 0))
				head := wire.Header{OpCode: 7, TargetPlayer: -1, Sender: 1, Payload: make([]byte, size)}
				buf := make([]byte, 0, datagramMax)
				b.SetBytes(int64(head.Size()))
				b.ReportAllocs()
				for b.Loop() {
					head.Sequence++
					buf = wire.AppendMessage(buf[:0], &head)
					p.main.handle(clientAddr(1), buf)
				}
			})
		}
	}
}

// BenchmarkFlood is a datagram nobody asked for.
func BenchmarkFlood(b *testing.B) {
	p, _, _ := upPool(b)
	b.ReportAllocs()
	for b.Loop() {
		p.main.handle(clientAddr(9), message17)
	}
}
