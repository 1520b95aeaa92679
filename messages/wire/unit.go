package wire

// SplitUnit returns the packet of the first unit as a view of b. It ignores the bytes after that unit, as all clients
// do (realtime.md 2). An empty packet is valid: all its fields have default values.
//
// The error is ErrTruncated if b is empty or ends inside the length, ErrLengthVarint if the length is not a 32-bit
// varint, ErrUnitTooLong if the length is above ServerUnitMax, and ErrLengthLies if the packet is incomplete. The
// caller must have limited b to UnitMax.
func SplitUnit(b []byte) (packet []byte, err error) {
	length := uint64(0)
	for i := 0; i < LengthVarintMax; i++ {
		if i >= len(b) {
			return nil, ErrTruncated
		}
		length |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return takePacket(b[i+1:], length)
		}
	}
	return nil, ErrLengthVarint
}

// takePacket returns the packet that follows the length.
func takePacket(b []byte, length uint64) ([]byte, error) {
	switch {
	case length > 1<<32-1:
		return nil, ErrLengthVarint
	case length > ServerUnitMax:
		return nil, ErrUnitTooLong
	case length > uint64(len(b)):
		return nil, ErrLengthLies
	}
	return b[:length:length], nil
}
