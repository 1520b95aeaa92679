package wire

// skip steps over an unknown field's value: groups to the end tag of their own number, at most depth inside each other.
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

// skipGroup steps over a group's fields and end tag. As in protobuf's decoder, field numbers reach 2^31-1 in there.
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
