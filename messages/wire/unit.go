package wire

// SplitUnit returns the first unit's packet, a view of b; bytes after it are ignored,
// as in all clients (realtime.md 2). An empty packet is valid: all defaults.
//
// Errors: ErrTruncated when b is empty or ends inside the length, ErrLengthVarint, ErrUnitTooLong above
// ServerUnitMax, ErrLengthLies when the packet is not all there. The caller has bounded b by UnitMax.
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

// takePacket cuts the packet off the bytes behind its length.
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
