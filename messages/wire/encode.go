package wire

// Size returns the number of bytes that Append writes.
func (h *Header) Size() int {
	n := sizeUint64(fieldOpCode, zigzag(h.OpCode)) +
		sizeInt32(fieldSequence, h.Sequence) +
		sizeInt32(fieldTargetPlayer, h.TargetPlayer) +
		sizeInt32(fieldTargetGroup, h.TargetGroup) +
		sizeInt32(fieldSender, h.Sender) +
		sizeInt32(fieldClientVersion, h.ClientVersion) +
		sizeBytes(fieldPayload, len(h.Payload)) +
		sizeUint64(fieldRelSeq, h.RelSeq) +
		sizeUint64(fieldAck, h.Ack)
	if h.Reliable {
		n += reliableSize
	}
	if h.Command != CommandNone {
		n += sizeMessageField(uint64(h.Command), len(h.Inner))
	}
	return n
}

// Append appends the packet to dst, without the unit's length. It writes h's fields in ascending order and omits
// default values. Inner is written as the oneof member given by Command. Unknown fields that Parse has read are lost.
func (h *Header) Append(dst []byte) []byte {
	dst = appendUint64(dst, fieldOpCode, zigzag(h.OpCode))
	dst = appendInt32(dst, fieldSequence, h.Sequence)
	dst = appendInt32(dst, fieldTargetPlayer, h.TargetPlayer)
	dst = appendInt32(dst, fieldTargetGroup, h.TargetGroup)
	dst = appendInt32(dst, fieldSender, h.Sender)
	dst = appendBool(dst, fieldReliable, h.Reliable)
	dst = appendInt32(dst, fieldClientVersion, h.ClientVersion)
	dst = appendBytes(dst, fieldPayload, h.Payload)
	if h.Command != CommandNone {
		dst = appendMessageField(dst, uint64(h.Command), h.Inner)
	}
	dst = appendUint64(dst, fieldRelSeq, h.RelSeq)
	return appendUint64(dst, fieldAck, h.Ack)
}
