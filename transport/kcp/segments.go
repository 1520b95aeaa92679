package kcp

import (
	"encoding/binary"

	kcpgo "github.com/xtaci/kcp-go/v5"

	"troupe/messages/counters"
)

const (
	// conversation is the number that all segments carry, on both sides.
	conversation = 0x54525031
	// packetMax is KCP's MTU: what of a data frame is behind its type.
	packetMax = dataMax - 1
	// segmentDataMax is the part of a message that one segment carries.
	segmentDataMax = packetMax - kcpgo.IKCP_OVERHEAD
)

// segment is the header of one KCP segment.
type segment struct {
	cmd, frg    byte
	window      uint16
	stamp       uint32 // milliseconds of KCP's clock; an ack returns its segment's
	number, una uint32
}

// cutSegment returns the first segment of b and what follows it. Other fields
// than these are of no use to us: KCP reads them itself.
func cutSegment(b []byte) (s segment, rest []byte) {
	length := binary.LittleEndian.Uint32(b[20:])
	return segment{
		cmd: b[4], frg: b[5],
		window: binary.LittleEndian.Uint16(b[6:]),
		stamp:  binary.LittleEndian.Uint32(b[8:]),
		number: binary.LittleEndian.Uint32(b[12:]),
		una:    binary.LittleEndian.Uint32(b[16:]),
	}, b[kcpgo.IKCP_OVERHEAD+length:]
}

// checkSegments returns why the body of a data frame must not go to KCP, 0 if it
// may. KCP checks most of this too, but segment by segment while it takes them
// in, and it panics on one over 1500 bytes.
func checkSegments(b []byte) counters.RecordDrop {
	if len(b) == 0 {
		return counters.SegmentMalformed
	}
	for len(b) > 0 {
		if len(b) < kcpgo.IKCP_OVERHEAD {
			return counters.SegmentMalformed
		}
		if binary.LittleEndian.Uint32(b) != conversation {
			return counters.SegmentConversation
		}
		length := uint64(binary.LittleEndian.Uint32(b[20:]))
		b2 := b[kcpgo.IKCP_OVERHEAD:]
		if length > uint64(len(b2)) {
			return counters.SegmentMalformed
		}
		switch b[4] {
		case kcpgo.IKCP_CMD_PUSH:
			if length == 0 { // no message is empty, and each would hold a buffer of 1500 bytes
				return counters.SegmentMalformed
			}
			if length > segmentDataMax {
				return counters.SegmentTooLarge
			}
		case kcpgo.IKCP_CMD_ACK, kcpgo.IKCP_CMD_WASK, kcpgo.IKCP_CMD_WINS:
			if length != 0 {
				return counters.SegmentMalformed
			}
		default:
			return counters.SegmentMalformed
		}
		b = b2[length:]
	}
	return 0
}

// arrival is what we want to know of a data frame that KCP takes in.
type arrival struct {
	pushes   int    // segments with data, each of which is acknowledged
	disorder bool   // one of them is not the next
	frgMax   byte   // most segments that are still to come of a message
	acks     bool   // it acknowledges something
	hole     bool   // behind something that is missing there
	ask      bool   // it asks for our window
	stamp    uint32 // what the last ack returns
	window   uint16 // the peer's, as KCP will see it
}

// note reads a checked body. Next is the number of the next new segment, which it
// moves on, but not beyond limit: what is above KCP drops.
func note(b []byte, next *uint32, limit uint32) (a arrival) {
	for len(b) > 0 {
		var s segment
		s, b = cutSegment(b)
		a.window = s.window
		switch s.cmd {
		case kcpgo.IKCP_CMD_PUSH:
			a.pushes++
			a.frgMax = max(a.frgMax, s.frg)
			if s.number != *next {
				a.disorder = true
			}
			if !before(s.number, *next) && before(s.number, limit) {
				*next = s.number + 1
			}
		case kcpgo.IKCP_CMD_ACK:
			a.acks, a.stamp = true, s.stamp
			// In order it would be below una, which is what the peer waits for.
			a.hole = a.hole || !before(s.number, s.una)
		case kcpgo.IKCP_CMD_WASK:
			a.ask = true
		}
	}
	return a
}

// before compares numbers that wrap around.
func before(a, b uint32) bool { return int32(a-b) < 0 }
