package websocket

import (
	"encoding/binary"
	"unicode/utf8"

	"troupe/transport/internal/rfc6455"
)

// parseClose checks the payload of a close frame (RFC 6455 sections 5.5.1 and 7.4). It returns code 0 if the frame has none.
func parseClose(payload []byte) (code uint16, err *rfc6455.Violation) {
	switch len(payload) {
	case 0:
		return 0, nil
	case 1:
		return 0, errCloseLength
	}
	code = binary.BigEndian.Uint16(payload)
	switch {
	case !sendable(code):
		return 0, errCloseCode
	case !utf8.Valid(payload[2:]):
		return 0, errCloseText
	}
	return code, nil
}

// sendable reports whether a peer may send this close code.
func sendable(code uint16) bool {
	return code >= 1000 && code <= 1003 || code >= 1007 && code <= 1014 || code >= 3000 && code <= 4999
}

// control is the payload of a queued control frame.
type control struct {
	n uint8
	b [rfc6455.ControlMax]byte
}

// byeFrame returns a close frame with a code and a text. If the code is 0, the frame has neither.
func byeFrame(code uint16, text string) *control {
	p := controls.Get().(*control)
	p.n = 0
	if code != 0 {
		binary.BigEndian.PutUint16(p.b[:], code)
		p.n = uint8(2 + copy(p.b[2:], text))
	}
	return p
}
