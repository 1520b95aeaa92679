package kcp

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// fastUnit is a unit of the fast channel.
func fastUnit(number int32) []byte {
	f := frameOf(int(number), 20)
	defer f.Release()
	return f.AppendFast(nil, number)
}

func (p *pair) droppedPackets(t *testing.T, why counters.Drop, want int64) {
	t.Helper()
	if got := p.count.Dropped.Get(why); got != want {
		t.Errorf("%d packets dropped as %s, want %d", got, why, want)
	}
}

// Section 9 of realtime.md: only a number above the highest received one is accepted.
func TestFastIn(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		say := func(b []byte) {
			if err := p.stream.SendDatagram(b); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		say(fastUnit(0))
		p.droppedPackets(t, counters.DropBeforeLogin, 1)

		var got []int32
		take := func(packet []byte) {
			var h wire.Header
			if err := h.Parse(packet); err != nil {
				t.Error(err)
			}
			got = append(got, h.Sequence)
		}
		f := p.conn.OpenFast(take)
		for _, n := range []int32{0, 1, 3, 2, 3, 7, -1, 6, 8} {
			say(fastUnit(n))
		}
		if want := []int32{0, 1, 3, 7, 8}; !slices.Equal(got, want) {
			t.Errorf("packets %v, want %v", got, want)
		}
		p.droppedPackets(t, counters.DropFastStale, 4)
		say(nil)
		say([]byte{9, 1})
		say([]byte{2, 0xff, 0xff})
		p.droppedPackets(t, counters.DropFastMalformed, 3)

		got = nil
		p.conn.OpenFast(take) // replaces the first: numbers start again
		say(fastUnit(0))
		if want := []int32{0}; !slices.Equal(got, want) || f.Ready() {
			t.Errorf("packets %v after a second OpenFast, the first is ready: %v", got, f.Ready())
		}
		p.conn.fast.Load().Close()
		say(fastUnit(9))
		p.droppedPackets(t, counters.DropFastOff, 1)
		p.finish()
	})
}

func TestFastOut(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		f := p.conn.OpenFast(func([]byte) {})
		if !f.Ready() {
			t.Fatal("not ready")
		}
		want := [][]byte{}
		for n := range int32(3) {
			fr := frameOf(5, 10)
			if !f.Send(fr) {
				t.Error("not sent")
			}
			want = append(want, fr.AppendFast(nil, n))
			fr.Release()
		}
		large := wire.NewFrame(&wire.Header{OpCode: 1, Payload: make([]byte, fastFrameMax)})
		if f.Send(large) {
			t.Error("a frame over a datagram is sent")
		}
		p.droppedPackets(t, counters.DropPayloadTooLarge, 1)
		large.Release()
		largest := wire.NewFrame(&wire.Header{OpCode: 1, Payload: make([]byte, wire.FastPayloadMax)})
		if !f.Send(largest) {
			t.Error("a frame of the largest payload is not sent")
		}
		want = append(want, largest.AppendFast(nil, 3))
		largest.Release()
		time.Sleep(time.Second)
		synctest.Wait()
		sameMessages(t, "datagrams", p.client.datagrams, want)

		p.conn.Close(messages.CloseNormal)
		if f.Ready() || f.Send(frameOf(1, 1)) {
			t.Error("ready while the connection closes")
		}
		if p.conn.OpenFast(func([]byte) {}).Ready() {
			t.Error("a channel opened then is ready")
		}
		p.finish()
	})
}

func TestDatagramOfTheStream(t *testing.T) {
	in(t, func(t *testing.T) {
		p := connect(t, 1, weather{})
		if err := p.stream.SendDatagram(make([]byte, datagramMax-1)); err != nil {
			t.Error(err)
		}
		if err := p.stream.SendDatagram(make([]byte, datagramMax)); err == nil {
			t.Error("a datagram over the limit is taken")
		}
		p.b.out.shut()
		if err := p.stream.SendDatagram([]byte{1}); err == nil {
			t.Error("a datagram that the carrier refuses is taken")
		}
		p.finish()
	})
}
