package websocket

import (
	"encoding/binary"

	"troupe/messages"
)

// opcode is the type of a frame (RFC 6455 section 5.2).
type opcode uint8

const (
	opContinuation opcode = 0x0
	opText         opcode = 0x1
	opBinary       opcode = 0x2
	opClose        opcode = 0x8
	opPing         opcode = 0x9
	opPong         opcode = 0xA
)

func (o opcode) control() bool { return o&0x8 != 0 }

func (o opcode) known() bool { return o <= opBinary || o >= opClose && o <= opPong }

const (
	controlBytesMax    = 125 // payload of a control frame
	clientHeaderMax    = 14  // 2, length 8, mask 4
	serverHeaderMax    = 10  // the same without a mask
	finBit             = 0x80
	rsvBits            = 0x70
	maskBit            = 0x80
	length16, length64 = 126, 127
)

// violation is a breach of the rules by the peer. The values are constants: a
// hostile peer costs no allocation.
type violation struct {
	reason messages.CloseReason
	text   string
}

// Error implements error.
func (v *violation) Error() string { return "websocket: " + v.text }

var (
	errUnmasked       = &violation{messages.CloseProtocolError, "frame without a mask"}
	errReservedBits   = &violation{messages.CloseProtocolError, "reserved bits set"}
	errReservedOpcode = &violation{messages.CloseProtocolError, "reserved op code"}
	errControlTooLong = &violation{messages.CloseProtocolError, "control frame over 125 bytes"}
	errControlParted  = &violation{messages.CloseProtocolError, "fragmented control frame"}
	errNoMessage      = &violation{messages.CloseProtocolError, "continuation of nothing"}
	errInMessage      = &violation{messages.CloseProtocolError, "new message inside a fragmented one"}
	errLengthSign     = &violation{messages.CloseProtocolError, "length with the top bit set"}
	errLengthForm     = &violation{messages.CloseProtocolError, "length not in its shortest form"}
	errTooBig         = &violation{messages.CloseMessageTooBig, "message over the limit"}
	errTooManyFrames  = &violation{messages.CloseMessageTooBig, "message in too many frames"}
	errCloseLength    = &violation{messages.CloseProtocolError, "close frame with half a code"}
	errCloseCode      = &violation{messages.CloseProtocolError, "close code that may not be sent"}
	errCloseText      = &violation{messages.CloseInvalidText, "close reason is not UTF-8"}
	errText           = &violation{messages.CloseInvalidText, "text message is not UTF-8"}
)

// header is the header of one frame from a client.
type header struct {
	fin    bool
	op     opcode
	mask   uint32 // as the bytes lie, little endian
	length uint64
	size   int // bytes of the header itself
}

// parseHeader reads the header at the start of b. A size of 0 without an error
// means that b ends inside it. What the first two bytes tell is checked at once.
func parseHeader(b []byte) (h header, err *violation) {
	if len(b) < 2 {
		return h, nil
	}
	h.fin, h.op = b[0]&finBit != 0, opcode(b[0]&0x0F)
	short := b[1] &^ maskBit
	switch {
	case b[0]&rsvBits != 0:
		return h, errReservedBits
	case !h.op.known():
		return h, errReservedOpcode
	case b[1]&maskBit == 0:
		return h, errUnmasked
	case h.op.control() && !h.fin:
		return h, errControlParted
	case h.op.control() && short > controlBytesMax:
		return h, errControlTooLong
	}
	at := 2
	switch short {
	case length16:
		if len(b) < 4 {
			return h, nil
		}
		h.length, at = uint64(binary.BigEndian.Uint16(b[2:])), 4
		if h.length < length16 {
			return h, errLengthForm
		}
	case length64:
		if len(b) < 10 {
			return h, nil
		}
		h.length, at = binary.BigEndian.Uint64(b[2:]), 10
		switch {
		case h.length>>63 != 0:
			return h, errLengthSign
		case h.length <= 0xFFFF:
			return h, errLengthForm
		}
	default:
		h.length = uint64(short)
	}
	if len(b) < at+4 {
		return h, nil
	}
	h.mask, h.size = binary.LittleEndian.Uint32(b[at:]), at+4
	return h, nil
}

// putHeader appends the header of an unmasked frame in one piece.
func putHeader(dst []byte, op opcode, length int) []byte {
	dst = append(dst, finBit|byte(op))
	switch {
	case length < length16:
		return append(dst, byte(length))
	case length <= 0xFFFF:
		return binary.BigEndian.AppendUint16(append(dst, length16), uint16(length))
	}
	return binary.BigEndian.AppendUint64(append(dst, length64), uint64(length))
}

// headerSize returns the bytes putHeader appends.
func headerSize(length int) int {
	switch {
	case length < length16:
		return 2
	case length <= 0xFFFF:
		return 4
	}
	return serverHeaderMax
}
