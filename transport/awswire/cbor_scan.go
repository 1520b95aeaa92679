package awswire

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// cborItemsMax limits the data items of one body. Decoding an item costs up to 50 bytes. The largest modeled
// input has some thousand items.
const cborItemsMax = 1 << 16

const cborNestingMax = 32 // maximum nesting depth of a body; the deepest modeled input has six levels

var (
	errCBORShort  = errors.New("the CBOR ends too early")
	errCBORItems  = errors.New("too many CBOR items")
	errCBORDepth  = errors.New("CBOR nested too deeply")
	errCBORForm   = errors.New("CBOR item of a form the protocol does not use")
	errCBORKey    = errors.New("CBOR map key is not text")
	errCBORUTF8   = errors.New("CBOR text is not UTF-8")
	errCBORBehind = errors.New("bytes behind the CBOR item")
)

// cborScanner checks a body before it is decoded, without allocating. The decoder limits neither the depth
// nor the number of items, so the scanner refuses bodies that would make it recurse deeply or allocate much.
//
//	initial byte: major type (3 bits) | argument or its width (5 bits)
//	major types:  0 uint, 1 negative, 2 bytes, 3 text, 4 list, 5 map, 6 tag, 7 simple and float
type cborScanner struct {
	rest  []byte
	items int // data items that the body may still have
	pairs int // map entries so far
}

// scanCBOR checks a complete body and returns the number of its map entries.
func scanCBOR(body []byte) (pairs int, err error) {
	s := cborScanner{rest: body, items: cborItemsMax}
	if err := s.item(cborNestingMax); err != nil {
		return 0, err
	}
	if len(s.rest) > 0 {
		return 0, errCBORBehind
	}
	return s.pairs, nil
}

const (
	cborIndefinite = 31
	cborBreak      = 0xff
)

func (s *cborScanner) item(depth int) error {
	if depth == 0 {
		return errCBORDepth
	}
	if s.items--; s.items < 0 {
		return errCBORItems
	}
	if len(s.rest) == 0 {
		return errCBORShort
	}
	major, minor := s.rest[0]>>5, s.rest[0]&31
	if major == 7 {
		return s.simple(minor)
	}
	if minor == cborIndefinite && major >= 2 && major <= 5 {
		s.rest = s.rest[1:]
		return s.indefinite(major, depth)
	}
	n, err := s.argument(minor)
	if err != nil {
		return err
	}
	switch major {
	case 2, 3:
		return s.skipText(n, major == 3)
	case 4, 5:
		for ; n > 0; n-- {
			if err := s.element(major, depth); err != nil {
				return err
			}
		}
	case 6:
		return s.item(depth - 1)
	}
	return nil
}

// element reads one list item, or one map key with its value.
func (s *cborScanner) element(major byte, depth int) error {
	if major == 5 {
		if len(s.rest) > 0 && s.rest[0]>>5 != 3 {
			return errCBORKey
		}
		s.pairs++
		if err := s.item(depth - 1); err != nil {
			return err
		}
	}
	return s.item(depth - 1)
}

func (s *cborScanner) indefinite(major byte, depth int) error {
	for {
		if len(s.rest) == 0 {
			return errCBORShort
		}
		if s.rest[0] == cborBreak {
			s.rest = s.rest[1:]
			return nil
		}
		if major < 4 && (s.rest[0]>>5 != major || s.rest[0]&31 == cborIndefinite) {
			return errCBORForm
		}
		if err := s.element(major, depth); err != nil {
			return err
		}
	}
}

// simple reads true, false, null, undefined, or a float of any width.
func (s *cborScanner) simple(minor byte) error {
	width := 1
	switch minor {
	case 20, 21, 22, 23:
	case 25, 26, 27:
		width += 2 << (minor - 25)
	default:
		return errCBORForm
	}
	if len(s.rest) < width {
		return errCBORShort
	}
	s.rest = s.rest[width:]
	return nil
}

// argument consumes the initial byte and the argument that follows it.
func (s *cborScanner) argument(minor byte) (uint64, error) {
	if minor < 24 {
		s.rest = s.rest[1:]
		return uint64(minor), nil
	}
	if minor > 27 {
		return 0, errCBORForm
	}
	width := 1 << (minor - 24)
	if len(s.rest) < 1+width {
		return 0, errCBORShort
	}
	var wide [8]byte
	copy(wide[8-width:], s.rest[1:1+width])
	s.rest = s.rest[1+width:]
	return binary.BigEndian.Uint64(wide[:]), nil
}

func (s *cborScanner) skipText(n uint64, text bool) error {
	if n > uint64(len(s.rest)) {
		return errCBORShort
	}
	if text && !utf8.Valid(s.rest[:n]) {
		return errCBORUTF8
	}
	s.rest = s.rest[n:]
	return nil
}
