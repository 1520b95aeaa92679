package kcp

import "testing"

// libraryAllocs is how many allocations the library makes for one message: two buffers that it returns to its pool by
// value, and a segment that it stores in a heap of interfaces.
const libraryAllocs = 4

// TestMessageAllocatesNothing checks that a message causes no allocations except those of the library.
func TestMessageAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates: run without -race")
	}
	b := newBench(t)
	sent := int64(0)
	if n := testing.AllocsPerRun(2000, func() {
		b.round(1)
		sent++
		b.await(t, sent)
	}); n > libraryAllocs {
		t.Errorf("%v allocations per message, the library's are %d", n, libraryAllocs)
	}
}

func TestFastAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates: run without -race")
	}
	b := newBench(t)
	got := 0
	f := b.conn.OpenFast(func([]byte) { got++ })
	frame := frameOf(1, 100)
	datagram := append([]byte{byte(frameFast)}, fastUnit(0)...)
	n := int32(0)
	if n := testing.AllocsPerRun(2000, func() {
		if !f.Send(frame) {
			t.Fatal("not sent")
		}
		b.down.free = append(b.down.free, b.down.waiting...)
		b.down.waiting = b.down.waiting[:0]
		datagram = frame.AppendFast(datagram[:1], n)
		n++
		b.host.OnRecord(datagram)
	}); n != 0 {
		t.Errorf("%v allocations per packet each way", n)
	}
	if got < 2000 {
		t.Errorf("%d packets", got)
	}
}
