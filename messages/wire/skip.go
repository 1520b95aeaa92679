package wire

// skip skips the value of an unknown field. A group is skipped up to the end tag with its own number. Groups may be
// nested at most depth deep.
func skip(b []byte, number uint64, typ uint8, depth int) (rest []byte, err error) {
	switch typ {
	case typeVarint:
		_, b, err = uvarint(b)
		return b, err
	case typeBytes:
		_, b, err = lengthDelimited(b)
		return b, err
	case typeFixed64:
		return skipFixed(b, 8)
	case typeFixed32:
		return skipFixed(b, 4)
	case typeStartGroup:
		if depth == 0 {
			return nil, ErrGroupDepth
		}
		return skipGroup(b, number, depth-1)
	case typeEndGroup:
		return nil, ErrGroup
	}
	return nil, ErrWireType
}

func skipFixed(b []byte, n int) ([]byte, error) {
	if len(b) < n {
		return nil, ErrTruncated
	}
	return b[n:], nil
}

// skipGroup skips the fields and the end tag of a group. As in protobuf's decoder, field numbers inside a group may be
// up to 2^31-1.
func skipGroup(b []byte, number uint64, depth int) (rest []byte, err error) {
	for {
		var tag uint64
		if tag, b, err = uvarint(b); err != nil {
			return nil, err
		}
		inner, typ := tag>>3, uint8(tag&7)
		if inner == 0 || inner > 1<<31-1 {
			return nil, ErrFieldNumber
		}
		if typ == typeEndGroup {
			if inner != number {
				return nil, ErrGroup
			}
			return b, nil
		}
		if b, err = skip(b, inner, typ, depth); err != nil {
			return nil, err
		}
	}
}
