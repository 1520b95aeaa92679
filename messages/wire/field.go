package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Wire types of protobuf. The values 6 and 7 do not exist.
const (
	typeVarint     = 0
	typeFixed64    = 1
	typeBytes      = 2
	typeStartGroup = 3
	typeEndGroup   = 4
	typeFixed32    = 5
)

// fieldMax is the largest field number allowed in a message.
const fieldMax = 1<<29 - 1

// field is one decoded field. Its value is in varint or bytes, depending on typ. The values of other wire types are
// skipped.
type field struct {
	number uint64
	typ    uint8
	varint uint64
	bytes  []byte
}

// next decodes the first field of b, which must not be empty, into f and returns the rest. Fixed-size values and groups
// are skipped, because no message of the protocol has them.
func (f *field) next(b []byte) (rest []byte, err error) {
	tag, b, err := uvarint(b)
	if err != nil {
		return nil, err
	}
	f.number, f.typ = tag>>3, uint8(tag&7)
	if f.number == 0 || f.number > fieldMax {
		return nil, ErrFieldNumber
	}
	switch f.typ {
	case typeVarint:
		f.varint, b, err = uvarint(b)
	case typeBytes:
		f.bytes, b, err = lengthDelimited(b)
	default:
		b, err = skip(b, f.number, f.typ, GroupDepthMax)
	}
	return b, err
}

// uvarint decodes a varint at the start of b. The common case of a single byte needs no function call.
func uvarint(b []byte) (v uint64, rest []byte, err error) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], nil
	}
	return longUvarint(b)
}

func longUvarint(b []byte) (v uint64, rest []byte, err error) {
	v, n := protowire.ConsumeVarint(b)
	if n >= 0 {
		return v, b[n:], nil
	}
	if len(b) < VarintMax {
		return 0, nil, ErrTruncated
	}
	return 0, nil, ErrVarint
}

// lengthDelimited decodes a length at the start of b and returns that many bytes.
func lengthDelimited(b []byte) (v, rest []byte, err error) {
	n, b, err := uvarint(b)
	if err != nil {
		return nil, nil, err
	}
	if n > uint64(len(b)) {
		return nil, nil, ErrTruncated
	}
	return b[:n:n], b[n:], nil
}

func text(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", ErrUTF8
	}
	return string(b), nil
}

// parseInto decodes an inner message. It calls set for each field. After an error the message is the zero value.
func parseInto[M any](inner []byte, set func(m *M, f *field) error) (m M, err error) {
	var f field
	for len(inner) > 0 {
		if inner, err = f.next(inner); err == nil {
			err = set(&m, &f)
		}
		if err != nil {
			return *new(M), err
		}
	}
	return m, nil
}
