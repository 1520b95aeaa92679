package wire

import "sync/atomic"

// reliableSize is the bytes of `reliable` = true: tag and value.
const reliableSize = 2

// Frame is one encoded packet for any number of recipients, by either channel. It is immutable once built and counts
// its references: a constructor returns it with one, Retain adds one, Release gives one back, the last to a pool.
// Holders may call all methods concurrently. Using it after the last Release is a bug; it panics if that is detected.
//
// Its bytes are the unit for WebSocket:
//
//	length | opCode | targetPlayer targetGroup sender | reliable | payload inner
//	       ^ body   ^ seqAt                           ^ reliableAt
//
// The fast channel inserts the sequence number at seqAt, and leaves out the two bytes at reliableAt.
type Frame struct {
	refs       atomic.Int32
	class      int8  // index into classes, or classNone
	body       uint8 // offset of the packet: size of the length varint
	seqAt      uint8
	reliableAt uint8

	opCode       int32
	targetPlayer int32
	targetGroup  int32
	sender       int32
	payloadAt    uint8
	payloadLen   int

	unit []byte
}

// NewFrame encodes an application message: h's op code, targets, sender and payload, always reliable; nothing of h is kept. Sequence,
// relSeq and ack are added per recipient. In steady state it allocates nothing up to ScriptPayloadMax; larger frames are not pooled.
func NewFrame(h *Header) *Frame {
	return newFrame(&Header{
		OpCode: h.OpCode, TargetPlayer: h.TargetPlayer, TargetGroup: h.TargetGroup,
		Sender: h.Sender, Payload: h.Payload,
	})
}

// newFrame encodes h with its inner message; sequence, client version and extension fields must be zero.
func newFrame(h *Header) *Frame {
	h.Reliable = true
	size := h.Size()
	length := sizeVarint(uint64(size))
	f := takeFrame(length + size)
	f.opCode, f.targetPlayer = h.OpCode, h.TargetPlayer
	f.targetGroup, f.sender = h.TargetGroup, h.Sender

	unit := h.Append(appendVarint(f.unit[:0], uint64(size)))
	f.unit = unit
	seqAt := length + sizeUint64(fieldOpCode, zigzag(h.OpCode))
	reliableAt := seqAt + sizeInt32(fieldTargetPlayer, h.TargetPlayer) +
		sizeInt32(fieldTargetGroup, h.TargetGroup) + sizeInt32(fieldSender, h.Sender)
	f.body, f.seqAt, f.reliableAt = uint8(length), uint8(seqAt), uint8(reliableAt)
	f.payloadLen = len(h.Payload)
	f.payloadAt = uint8(reliableAt + reliableSize +
		sizeBytes(fieldPayload, f.payloadLen) - f.payloadLen)
	f.refs.Store(1)
	return f
}

// Retain adds a reference and returns f. It panics when f has none left.
func (f *Frame) Retain() *Frame {
	if f.refs.Add(1) <= 1 {
		f.refs.Add(-1) // otherwise a later Release would put it into the pool twice
		panic("wire: Retain of a released Frame")
	}
	return f
}

// Release gives one reference back, the last one the frame to its pool. Without any left it panics.
func (f *Frame) Release() {
	if f.last() {
		giveFrame(f)
	}
}

// ReleaseAll releases each frame, cheaper than one by one, and overwrites the slice.
func ReleaseAll(frames []*Frame) {
	n := 0
	for _, f := range frames {
		if f.last() {
			frames[n] = f
			n++
		}
	}
	giveFrames(frames[:n])
}

// last gives one reference back and reports whether it was the last.
func (f *Frame) last() bool {
	n := f.refs.Add(-1)
	if n < 0 {
		panic("wire: Release of a released Frame")
	}
	return n == 0
}

// live panics when f has no references: its bytes may belong to another frame.
func (f *Frame) live() {
	if f.refs.Load() <= 0 {
		panic("wire: use of a released Frame")
	}
}

// OpCode returns the op code the frame was built with.
func (f *Frame) OpCode() int32 { f.live(); return f.opCode }

// TargetPlayer returns the target player the frame was built with.
func (f *Frame) TargetPlayer() int32 { f.live(); return f.targetPlayer }

// TargetGroup returns the target group the frame was built with.
func (f *Frame) TargetGroup() int32 { f.live(); return f.targetGroup }

// Sender returns the sender the frame was built with.
func (f *Frame) Sender() int32 { f.live(); return f.sender }

// Payload returns a view of the payload, to be read only while the caller holds its reference.
func (f *Frame) Payload() []byte {
	f.live()
	end := int(f.payloadAt) + f.payloadLen
	return f.unit[f.payloadAt:end:end]
}

// Len returns the length of the unit that AppendReliable appends, in bytes.
func (f *Frame) Len() int { f.live(); return len(f.unit) }

// Unit returns a view of the unit that AppendReliable appends, to be read only while the caller holds its reference.
func (f *Frame) Unit() []byte { f.live(); return f.unit[:len(f.unit):len(f.unit)] }

// AppendReliable appends the unit for WebSocket: reliable true, no sequence number.
func (f *Frame) AppendReliable(dst []byte) []byte {
	f.live()
	return append(dst, f.unit...)
}

// AppendFast appends the unit for the fast channel: without reliable, and with
// seq, the recipient's own sequence number, unless 0 (realtime.md 9).
func (f *Frame) AppendFast(dst []byte, seq int32) []byte {
	f.live()
	size := len(f.unit) - int(f.body) - reliableSize + sizeInt32(fieldSequence, seq)
	dst = appendVarint(dst, uint64(size))
	dst = append(dst, f.unit[f.body:f.seqAt]...)
	dst = appendInt32(dst, fieldSequence, seq)
	dst = append(dst, f.unit[f.seqAt:f.reliableAt]...)
	return append(dst, f.unit[f.reliableAt+reliableSize:]...)
}

// NumbersMax is how many bytes relSeq, ack and a longer length add to a unit at most.
const NumbersMax = 2*(2+10) + 1

// NumberedLen returns the length of the unit that AppendNumbered appends, in bytes.
func (f *Frame) NumberedLen(relSeq, ack uint64) int {
	f.live()
	size := f.numberedSize(relSeq, ack)
	return sizeVarint(uint64(size)) + size
}

func (f *Frame) numberedSize(relSeq, ack uint64) int {
	return len(f.unit) - int(f.body) + sizeUint64(fieldRelSeq, relSeq) + sizeUint64(fieldAck, ack)
}

// AppendNumbered appends AppendReliable's unit with the recipient's own relSeq
// and ack, each left out when it is 0, for a client of the extension.
func (f *Frame) AppendNumbered(dst []byte, relSeq, ack uint64) []byte {
	f.live()
	dst = appendVarint(dst, uint64(f.numberedSize(relSeq, ack)))
	dst = append(dst, f.unit[f.body:]...)
	dst = appendUint64(dst, fieldRelSeq, relSeq)
	return appendUint64(dst, fieldAck, ack)
}
