package wire

import "sync/atomic"

// reliableSize is the size of the field reliable with the value true, in bytes: tag and value.
const reliableSize = 2

// Frame is one encoded packet for any number of recipients, on either channel. It is immutable once built and counts
// its references. A constructor returns it with one reference, Retain adds one, and Release removes one. The last
// Release returns the frame to a pool. All holders of a reference may call all methods concurrently. Using a frame
// after the last Release is a bug and panics if it is detected.
//
// The frame's bytes are the unit for WebSocket:
//
//	length | opCode | targetPlayer targetGroup sender | reliable | payload inner
//	       ^ body   ^ seqAt                           ^ reliableAt
//
// For the fast channel, the sequence number is inserted at seqAt, and the two bytes at reliableAt are omitted.
type Frame struct {
	refs       atomic.Int32
	class      int8  // index into classes, or classNone
	body       uint8 // offset of the packet, which is the size of the length varint
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

// NewFrame encodes an application message with the op code, targets, sender and payload of h. The frame is always
// reliable, and nothing of h is kept. Sequence, relSeq and ack are added per recipient. In steady state NewFrame does
// not allocate memory for payloads of up to ScriptPayloadMax. Larger frames are not pooled.
func NewFrame(h *Header) *Frame {
	return newFrame(&Header{
		OpCode: h.OpCode, TargetPlayer: h.TargetPlayer, TargetGroup: h.TargetGroup,
		Sender: h.Sender, Payload: h.Payload,
	})
}

// newFrame encodes h with its inner message. The sequence, client version and extension fields of h must be zero.
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

// Retain adds a reference and returns f. It panics if f has no references left.
func (f *Frame) Retain() *Frame {
	if f.refs.Add(1) <= 1 {
		f.refs.Add(-1) // otherwise a later Release would put f into the pool twice
		panic("wire: Retain of a released Frame")
	}
	return f
}

// Release removes one reference. If it was the last one, the frame returns to its pool. Release panics if f has no
// references left.
func (f *Frame) Release() {
	if f.last() {
		giveFrame(f)
	}
}

// ReleaseAll releases each frame and overwrites the slice. It is cheaper than separate calls of Release.
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

// last removes one reference and reports whether it was the last one.
func (f *Frame) last() bool {
	n := f.refs.Add(-1)
	if n < 0 {
		panic("wire: Release of a released Frame")
	}
	return n == 0
}

// live panics if f has no references, because its bytes may belong to another frame.
func (f *Frame) live() {
	if f.refs.Load() <= 0 {
		panic("wire: use of a released Frame")
	}
}

// OpCode returns the op code with which the frame was built.
func (f *Frame) OpCode() int32 { f.live(); return f.opCode }

// TargetPlayer returns the target player with which the frame was built.
func (f *Frame) TargetPlayer() int32 { f.live(); return f.targetPlayer }

// TargetGroup returns the target group with which the frame was built.
func (f *Frame) TargetGroup() int32 { f.live(); return f.targetGroup }

// Sender returns the sender with which the frame was built.
func (f *Frame) Sender() int32 { f.live(); return f.sender }

// Payload returns a view of the payload. It may be read only while the caller holds its reference.
func (f *Frame) Payload() []byte {
	f.live()
	end := int(f.payloadAt) + f.payloadLen
	return f.unit[f.payloadAt:end:end]
}

// Len returns the length of the unit that AppendReliable appends, in bytes.
func (f *Frame) Len() int { f.live(); return len(f.unit) }

// Unit returns a view of the unit that AppendReliable appends. It may be read only while the caller holds its
// reference.
func (f *Frame) Unit() []byte { f.live(); return f.unit[:len(f.unit):len(f.unit)] }

// AppendReliable appends the unit for WebSocket, with reliable set to true and without a sequence number.
func (f *Frame) AppendReliable(dst []byte) []byte {
	f.live()
	return append(dst, f.unit...)
}

// AppendFast appends the unit for the fast channel, without reliable. If seq is not 0, it is added as the recipient's
// sequence number (realtime.md 9).
func (f *Frame) AppendFast(dst []byte, seq int32) []byte {
	f.live()
	size := len(f.unit) - int(f.body) - reliableSize + sizeInt32(fieldSequence, seq)
	dst = appendVarint(dst, uint64(size))
	dst = append(dst, f.unit[f.body:f.seqAt]...)
	dst = appendInt32(dst, fieldSequence, seq)
	dst = append(dst, f.unit[f.seqAt:f.reliableAt]...)
	return append(dst, f.unit[f.reliableAt+reliableSize:]...)
}

// NumbersMax is the maximum number of bytes that relSeq, ack and a longer length add to a unit.
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

// AppendNumbered appends the unit of AppendReliable with the recipient's relSeq and ack. Each is omitted if it is 0. It
// is for clients that use the extension.
func (f *Frame) AppendNumbered(dst []byte, relSeq, ack uint64) []byte {
	f.live()
	dst = appendVarint(dst, uint64(f.numberedSize(relSeq, ack)))
	dst = append(dst, f.unit[f.body:]...)
	dst = appendUint64(dst, fieldRelSeq, relSeq)
	return appendUint64(dst, fieldAck, ack)
}
