package kcp

import (
	"encoding/binary"
	"testing"

	kcpgo "github.com/xtaci/kcp-go/v5"

	"troupe/messages/counters"
)

// forged is a segment that an attacker writes. Its zero values are valid.
type forged struct {
	conv        uint32 // 0 for the correct one
	cmd         byte   // 0 for data
	frg         byte
	window      int // 0 for 128
	stamp       uint32
	number, una uint32
	length      int // 0 for the length of data
	data        []byte
}

func (f forged) append(b []byte) []byte {
	if f.conv == 0 {
		f.conv = conversation
	}
	if f.cmd == 0 {
		f.cmd = kcpgo.IKCP_CMD_PUSH
	}
	if f.window == 0 {
		f.window = windowSegments
	}
	if f.window < 0 {
		f.window = 0
	}
	if f.length == 0 {
		f.length = len(f.data)
	}
	b = binary.LittleEndian.AppendUint32(b, f.conv)
	b = append(b, f.cmd, f.frg)
	b = binary.LittleEndian.AppendUint16(b, uint16(f.window))
	b = binary.LittleEndian.AppendUint32(b, f.stamp)
	b = binary.LittleEndian.AppendUint32(b, f.number)
	b = binary.LittleEndian.AppendUint32(b, f.una)
	b = binary.LittleEndian.AppendUint32(b, uint32(f.length))
	return append(b, f.data...)
}

// dataFrame returns a data frame of the given segments.
func dataFrame(segments ...forged) []byte {
	b := []byte{byte(frameData)}
	for _, s := range segments {
		b = s.append(b)
	}
	return b
}

func TestCheckSegments(t *testing.T) {
	ok := forged{data: []byte("data")}
	for _, c := range []struct {
		name string
		body []byte
		want counters.RecordDrop
	}{
		{"nothing", nil, counters.SegmentMalformed},
		{"data", dataFrame(ok)[1:], 0},
		{"several", dataFrame(ok, forged{cmd: kcpgo.IKCP_CMD_ACK}, forged{cmd: kcpgo.IKCP_CMD_WASK}, forged{cmd: kcpgo.IKCP_CMD_WINS}, ok)[1:], 0},
		{"half a header", dataFrame(ok)[1:20], counters.SegmentMalformed},
		{"half of the data", dataFrame(ok)[1:27], counters.SegmentMalformed},
		{"rest behind", append(dataFrame(ok), 0, 0, 0)[1:], counters.SegmentMalformed},
		{"length lies", dataFrame(forged{data: []byte("data"), length: 5})[1:], counters.SegmentMalformed},
		{"length of 4 GB", dataFrame(forged{data: []byte("data"), length: 1<<32 - 1})[1:], counters.SegmentMalformed},
		{"length of 2 GB", dataFrame(forged{data: []byte("data"), length: 1 << 31})[1:], counters.SegmentMalformed},
		{"second lies", dataFrame(ok, forged{data: []byte("data"), length: 5})[1:], counters.SegmentMalformed},
		{"no data", dataFrame(forged{})[1:], counters.SegmentMalformed},
		{"ack with data", dataFrame(forged{cmd: kcpgo.IKCP_CMD_ACK, data: []byte("x")})[1:], counters.SegmentMalformed},
		{"command 80", dataFrame(forged{cmd: 80, data: []byte("x")})[1:], counters.SegmentMalformed},
		{"command 85", dataFrame(forged{cmd: 85, data: []byte("x")})[1:], counters.SegmentMalformed},
		{"other conversation", dataFrame(forged{conv: 1, data: []byte("x")})[1:], counters.SegmentConversation},
		{"second of another", dataFrame(ok, forged{conv: 1, data: []byte("x")})[1:], counters.SegmentConversation},
		{"largest", dataFrame(forged{data: make([]byte, segmentDataMax)})[1:], 0},
		{"too large", dataFrame(forged{data: make([]byte, segmentDataMax+1)})[1:], counters.SegmentTooLarge},
		{"over 1500", dataFrame(forged{data: make([]byte, 1501)})[1:], counters.SegmentTooLarge},
	} {
		if got := checkSegments(c.body); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNote(t *testing.T) {
	const limit = 128
	ack := forged{cmd: kcpgo.IKCP_CMD_ACK, number: 4, una: 5, stamp: 77, window: 9}
	data := func(n uint32, frg byte) forged { return forged{number: n, frg: frg, data: []byte("x")} }
	for _, c := range []struct {
		name string
		in   []forged
		want arrival
		next uint32
	}{
		{"in order", []forged{data(0, 2), data(1, 1), data(2, 0)}, arrival{pushes: 3, frgMax: 2, window: 128}, 3},
		{"gap", []forged{data(0, 0), data(2, 0)}, arrival{pushes: 2, outOfOrder: true, window: 128}, 3},
		{"again", []forged{data(0, 0), data(0, 0)}, arrival{pushes: 2, outOfOrder: true, window: 128}, 1},
		{"out of reach", []forged{data(128, 0)}, arrival{pushes: 1, outOfOrder: true, window: 128}, 0},
		{"ack", []forged{ack}, arrival{acked: true, stamp: 77, window: 9}, 0},
		{"ack behind a gap", []forged{{cmd: kcpgo.IKCP_CMD_ACK, number: 6, una: 5}}, arrival{acked: true, ackGap: true, window: 128}, 0},
		{"ask", []forged{{cmd: kcpgo.IKCP_CMD_WASK}}, arrival{asksWindow: true, window: 128}, 0},
		{"tell", []forged{{cmd: kcpgo.IKCP_CMD_WINS, window: 3}}, arrival{window: 3}, 0},
	} {
		next := uint32(0)
		if got := note(dataFrame(c.in...)[1:], &next, limit); got != c.want || next != c.next {
			t.Errorf("%s: %+v, next %d; want %+v, next %d", c.name, got, next, c.want, c.next)
		}
	}
	next := uint32(1<<32 - 1) // numbers wrap around
	if a := note(dataFrame(data(1<<32-1, 0), data(0, 0))[1:], &next, 127); a.outOfOrder || next != 1 {
		t.Errorf("around the end: %+v, next %d", a, next)
	}
}
