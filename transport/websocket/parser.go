package websocket

import (
	"troupe/messages"
	"troupe/transport/internal/rfc6455"
)

// Protocol violations that a header alone does not show.
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

// event is the next part of the input that the parser has found.
type event struct {
	kind    eventKind
	op      rfc6455.Opcode // gotControl: of the frame
	last    bool           // gotPart: the message is complete
	payload []byte         // a view of the input, unmasked
	used    int            // bytes of the input that are parsed, payload included
}

type eventKind uint8

const (
	needMore   eventKind = iota + 1 // nothing, until more bytes have come
	gotMessage                      // a whole message
	gotPart                         // the next bytes of a message, perhaps none
	gotControl                      // a whole control frame
)

// parser turns bytes from a client into events, by the rules of RFC 6455. It keeps no bytes: the caller offers those not used
// again, with more behind them. It knows nothing of sockets and time.
type parser struct {
	bytesMax  int // payload of one message; may change between calls
	framesMax int // frames of one message

	open   bool   // a message is under way
	fin    bool   // of the frame under way
	mask   uint32 // of the frame under way, turned to its next byte
	frames int    // its frames so far
	size   int    // its payload, as far as announced
	left   int    // bytes of the frame under way still to come; the caller may read them directly into the message
}

// next parses the start of b. A control frame, or a message in one frame, is returned whole if it fits into window bytes, the
// largest input that the caller can offer, at least 256. All other frames are returned in parts.
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
	whole := h.Size + int(h.Length) // bounded by check
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

// part returns the bytes of the current frame that b has from index at on.
func (p *parser) part(b []byte, at int) event {
	n := min(p.left, len(b)-at)
	if n == 0 && p.left > 0 && at == 0 {
		return event{kind: needMore}
	}
	payload := b[at : at+n : at+n]
	return event{kind: gotPart, last: p.body(payload), payload: payload, used: at + n}
}

// body unmasks the next bytes of the frame, at most left, in place, and reports whether they complete the message.
func (p *parser) body(payload []byte) (last bool) {
	p.mask = rfc6455.Mask(payload, p.mask)
	p.left -= len(payload)
	if p.left > 0 || !p.fin {
		return false
	}
	p.open = false
	return true
}
