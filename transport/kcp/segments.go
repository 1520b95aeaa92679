package kcp

import (
	"encoding/binary"

	kcpgo "github.com/xtaci/kcp-go/v5"

	"troupe/messages/counters"
)

const (
	// conversation is KCP's conversation number in all segments, in both directions.
	conversation = 0x54525031
	// packetMax is KCP's MTU in bytes: a data frame without its type.
	packetMax = dataMax - 1
	// segmentDataMax is how many bytes of a message one segment can carry.
	segmentDataMax = packetMax - kcpgo.IKCP_OVERHEAD
)

// segment is the header of one KCP segment.
type segment struct {
	cmd, frg    byte
	window      uint16
	stamp       uint32 // milliseconds of KCP's clock; an ack returns the stamp of the segment that it acknowledges
	number, una uint32
}

// cutSegment returns the header of the first segment of b, and the bytes after that segment.
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

// checkSegments checks the body of a data frame before KCP gets it. It returns the reason to drop it, or 0 if it is valid.
// KCP checks most of this too, but only while it processes the segments, and it panics on a segment over 1500 bytes.
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
			// No message is empty, and each empty segment would occupy a buffer of 1500 bytes.
			if length == 0 {
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

// arrival summarizes the segments of a data frame. A boolean is true if it holds for any of them.
type arrival struct {
	pushes     int    // segments with data, each of which is acknowledged
	frgMax     byte   // the largest number of segments that still follow in a message
	outOfOrder bool   // a segment with data was not the next one
	acked      bool   // something is acknowledged
	ackGap     bool   // a segment is acknowledged although an earlier one is missing
	asksWindow bool   // the peer asks for our window
	stamp      uint32 // the time stamp that the last ack returns
	window     uint16 // the peer's window, as KCP will read it
}

// note summarizes a checked body. It also advances next, the number of the next new segment, but at most to limit,
// because KCP drops segments from limit on.
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
				a.outOfOrder = true
			}
			if !before(s.number, *next) && before(s.number, limit) {
				*next = s.number + 1
			}
		case kcpgo.IKCP_CMD_ACK:
			a.acked, a.stamp = true, s.stamp
			// una is the number that the peer expects next. Without a gap, acknowledged numbers are below it.
			a.ackGap = a.ackGap || !before(s.number, s.una)
		case kcpgo.IKCP_CMD_WASK:
			a.asksWindow = true
		}
	}
	return a
}

// before reports whether a comes before b, for numbers that wrap around.
func before(a, b uint32) bool { return int32(a-b) < 0 }
