package websocket

import (
	"troupe/messages"
	"troupe/transport/internal/rfc6455"
)

// Protocol violations that cannot be found from a frame header alone.
var (
	errNoMessage     = rfc6455.Breach(messages.CloseProtocolError, "continuation of nothing")
	errInMessage     = rfc6455.Breach(messages.CloseProtocolError, "new message inside a fragmented one")
	errTooBig        = rfc6455.Breach(messages.CloseMessageTooBig, "message over the limit")
	errTooManyFrames = rfc6455.Breach(messages.CloseMessageTooBig, "message in too many frames")
	errCloseLength   = rfc6455.Breach(messages.CloseProtocolError, "close frame with half a code")
	errCloseCode     = rfc6455.Breach(messages.CloseProtocolError, "close code that may not be sent")
	errCloseText     = rfc6455.Breach(messages.CloseInvalidText, "close reason is not UTF-8")
	errText          = rfc6455.Breach(messages.CloseUnsupported, "text message") // D-102
)

// event is what the parser found next in the input.
type event struct {
	kind    eventKind
	op      rfc6455.Opcode // opcode of the control frame; gotControl only
	last    bool           // the message is complete; gotPart only
	payload []byte         // unmasked bytes; points into the input
	used    int            // how many bytes of the input were parsed, including payload
}

type eventKind uint8

const (
	needMore   eventKind = iota + 1 // nothing was found until more bytes arrive
	gotMessage                      // a complete message
	gotPart                         // the next bytes of a message, possibly none
	gotControl                      // a complete control frame
)

// parser turns bytes from a client into events, according to RFC 6455. It stores no bytes: the caller passes unused
// bytes again, followed by newer ones. It does not depend on sockets or time.
type parser struct {
	bytesMax  int // maximum payload of one message; may change between calls
	framesMax int // maximum frames of one message

	open   bool   // a message has begun and is not complete
	fin    bool   // the current frame is the last one of its message
	mask   uint32 // mask of the current frame, rotated to its next byte
	frames int    // frames of the current message so far
	size   int    // payload bytes of the current message, as announced by its frame headers so far
	left   int    // bytes of the current frame that are still missing; the caller may read them directly into the message
}

// next parses the start of b. window is the largest input that the caller can offer; it is at least 256 bytes. A
// control frame is always returned whole. A message in one frame is returned whole if the frame fits into window
// bytes. All other frames are returned in parts.
func (p *parser) next(b []byte, window int) (event, *rfc6455.Violation) {
	if p.left > 0 {
		return p.part(b, 0), nil
	}
	h, err := rfc6455.ParseHeader(b, true)
	if err != nil || h.Size == 0 {
		return event{kind: needMore}, err
	}
	if err := p.check(h); err != nil {
		return event{kind: needMore}, err
	}
	whole := h.Size + int(h.Length) // check has limited it
	if h.Op.Control() || !p.open && h.Fin && whole <= window {
		if len(b) < whole {
			return event{kind: needMore}, nil
		}
		payload := b[h.Size:whole:whole]
		rfc6455.Mask(payload, h.Mask)
		kind := gotMessage
		if h.Op.Control() {
			kind = gotControl
		}
		return event{kind: kind, op: h.Op, last: true, payload: payload, used: whole}, nil
	}
	if h.Op != rfc6455.Continuation {
		p.open, p.frames, p.size = true, 0, 0
	}
	p.frames++
	p.size += int(h.Length)
	p.left, p.fin, p.mask = int(h.Length), h.Fin, h.Mask
	return p.part(b, h.Size), nil
}

// check checks a header against the current message and the limits.
func (p *parser) check(h rfc6455.Header) *rfc6455.Violation {
	size, frames := uint64(0), 0
	switch {
	case h.Op.Control():
		return nil
	case h.Op == rfc6455.Text:
		return errText
	case h.Op == rfc6455.Continuation && !p.open:
		return errNoMessage
	case h.Op != rfc6455.Continuation && p.open:
		return errInMessage
	case h.Op == rfc6455.Continuation:
		size, frames = uint64(p.size), p.frames
	}
	switch {
	case h.Length > uint64(p.bytesMax) || size+h.Length > uint64(p.bytesMax):
		return errTooBig
	case frames >= p.framesMax:
		return errTooManyFrames
	}
	return nil
}

// part returns the bytes of the current frame that b contains from index at on.
func (p *parser) part(b []byte, at int) event {
	n := min(p.left, len(b)-at)
	if n == 0 && p.left > 0 && at == 0 {
		return event{kind: needMore}
	}
	payload := b[at : at+n : at+n]
	return event{kind: gotPart, last: p.body(payload), payload: payload, used: at + n}
}

// body unmasks payload in place. payload is the next part of the current frame, at most left bytes. body
// reports whether it completes the message.
func (p *parser) body(payload []byte) (last bool) {
	p.mask = rfc6455.Mask(payload, p.mask)
	p.left -= len(payload)
	if p.left > 0 || !p.fin {
		return false
	}
	p.open = false
	return true
}
