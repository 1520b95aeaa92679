package loadgen

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// WebSocket op codes and header bits (RFC 6455, section 5.2).
const (
	opBinary = 0x2
	opClose  = 0x8
	opPing   = 0x9
	opPong   = 0xa

	bitFin  = 0x80
	bitMask = 0x80
)

const (
	readBufferBytes = 1 << 10   // initial size; a larger frame grows the buffer
	frameBytesMax   = 128 << 10 // larger than any frame of a Realtime server
)

var (
	errFrameTooLarge = errors.New("frame too large")
	errFrameKind     = errors.New("fragmented, masked or compressed frame from the server")
)

// frameParser splits a byte stream that arrives in pieces of any size into server frames. To use it, read into space,
// pass the number of bytes to filled, and call next until it returns no frame.
type frameParser struct {
	buf        []byte
	start, end int // buf[start:end] is not parsed yet
}

// space returns the buffer to read into, which is never empty. It invalidates payloads that next has returned.
func (p *frameParser) space() []byte {
	if p.start > 0 {
		p.end = copy(p.buf, p.buf[p.start:p.end])
		p.start = 0
	}
	if p.end == len(p.buf) {
		grown := make([]byte, max(readBufferBytes, 2*len(p.buf)))
		copy(grown, p.buf[:p.end])
		p.buf = grown
	}
	return p.buf[p.end:]
}

// filled records that n bytes were read into space.
func (p *frameParser) filled(n int) { p.end += n }

// next returns the next complete frame. ok is false if more bytes are needed. The payload is valid until the next call
// of space.
func (p *frameParser) next() (op byte, payload []byte, ok bool, err error) {
	b := p.buf[p.start:p.end]
	if len(b) < 2 {
		return 0, nil, false, nil
	}
	if b[0]&0xf0 != bitFin || b[1]&bitMask != 0 || b[0]&0x0f == 0 {
		return 0, nil, false, fmt.Errorf("%w: %#x %#x", errFrameKind, b[0], b[1])
	}
	size, head := uint64(b[1]), 2
	switch size {
	case 126:
		if len(b) < 4 {
			return 0, nil, false, nil
		}
		size, head = uint64(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		if len(b) < 10 {
			return 0, nil, false, nil
		}
		size, head = binary.BigEndian.Uint64(b[2:]), 10
	}
	if size > frameBytesMax {
		return 0, nil, false, fmt.Errorf("%w: %d bytes", errFrameTooLarge, size)
	}
	total := head + int(size)
	if len(b) < total {
		return 0, nil, false, nil
	}
	p.start += total
	return b[0] & 0x0f, b[head:total], true, nil
}

// appendFrame appends a masked client frame.
func appendFrame(dst []byte, op byte, key [4]byte, payload []byte) []byte {
	dst = append(dst, bitFin|op)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, bitMask|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, bitMask|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, bitMask|127), uint64(n))
	}
	dst = append(dst, key[:]...)
	at := len(dst)
	dst = append(dst, payload...)
	mask(dst[at:], key, 0)
	return dst
}

// mask masks b in place. b starts at the given offset of the frame's payload.
func mask(b []byte, key [4]byte, offset int) {
	for i := range b {
		b[i] ^= key[(offset+i)&3]
	}
}
