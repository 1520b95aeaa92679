package dtls

import "slices"

// flight gathers a server's answer to the second hello until it is whole, and
// lets it go as one datagram. The library wants it so as soon as it remembers
// sessions: at the second look at a flight in parts, the session id that it has
// just stored is the one in the ServerHello, and it takes the handshake for a
// resumption.
type flight struct {
	parts    []part // of a flight that is not whole, in order
	begun    bool   // the ServerHello is in
	complete bool   // let go: what comes again may pass
	first    uint16 // number of the ServerHello
	last     uint16 // of ServerHelloDone, 0 while that is missing
}

// part is one record of the flight, which begins with one piece of a message. Of
// a resumption, ChangeCipherSpec and Finished come after all messages.
type part struct {
	messageSeq, offset int
	size, remaining    int // of the piece, and of the message from it on
	raw                []byte
}

// Numbers of the records behind the messages, which are numbered from 0.
const (
	seqChangeCipherSpec = 1 << 16
	seqFinished         = seqChangeCipherSpec + 1
)

// take takes an admitted record and returns what may go on now, as one datagram.
func (f *flight) take(r *record) []byte {
	p := part{raw: r.raw}
	switch {
	case f.complete:
		return r.raw
	case r.typ == changeCipherSpec:
		p.messageSeq = seqChangeCipherSpec
	case r.epoch == 1:
		p.messageSeq = seqFinished
	default:
		m, _, ok := nextMessage(r.fragment)
		if !ok || m.typ == msgHelloVerify {
			return r.raw
		}
		p.messageSeq, p.offset, p.size, p.remaining = int(m.sequence), m.offset, len(m.body), m.length-m.offset
		switch m.typ {
		case msgServerHello:
			f.begun, f.first = true, m.sequence
		case msgServerHelloDone:
			f.last = m.sequence
		}
	}
	f.keep(p)
	if !f.whole() {
		return nil
	}
	f.complete = true
	var out []byte
	for _, p := range f.parts {
		out = append(out, p.raw...)
	}
	f.parts = nil
	return out
}

// keep puts a part in its place, unless it is there.
func (f *flight) keep(p part) {
	at, found := slices.BinarySearchFunc(f.parts, p, func(a, b part) int {
		if a.messageSeq != b.messageSeq {
			return a.messageSeq - b.messageSeq
		}
		return a.offset - b.offset
	})
	if !found {
		p.raw = append([]byte(nil), p.raw...)
		f.parts = slices.Insert(f.parts, at, p)
	}
}

// whole reports whether nothing is missing from the ServerHello to its
// ServerHelloDone, or to the Finished of a resumption.
func (f *flight) whole() bool {
	if !f.begun {
		return false
	}
	place, offset := int(f.first), 0
	for _, p := range f.parts {
		switch {
		case p.messageSeq == seqChangeCipherSpec:
			return f.last == 0 && f.parts[len(f.parts)-1].messageSeq == seqFinished
		case p.messageSeq != place || p.offset != offset:
			return false
		}
		if offset += p.size; p.size == p.remaining {
			if f.last != 0 && p.messageSeq == int(f.last) {
				return true
			}
			place, offset = place+1, 0
		}
	}
	return false
}
