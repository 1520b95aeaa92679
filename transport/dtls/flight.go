package dtls

import "slices"

// flight collects the server's answer to the second ClientHello and releases it as one datagram. The library needs that
// when it caches sessions. It parses the flight again whenever another part of it arrives. The second time it finds the
// ServerHello's session id in the cache, where it has just stored it, and mistakes the handshake for a resumption.
type flight struct {
	parts    []part // parts of the incomplete flight, in order
	begun    bool   // the ServerHello has arrived
	complete bool   // the flight was released: repeated records may pass
	first    uint16 // number of the ServerHello
	last     uint16 // number of ServerHelloDone; 0 until it arrives
}

// part is one record of the flight. In a resumption, ChangeCipherSpec and Finished come after all messages.
type part struct {
	messageSeq, offset int
	size, remaining    int // size of the fragment; bytes of the message from the fragment's start on
	raw                []byte
}

// Sequence numbers of the two records that sort after all messages. Messages are numbered from 0.
const (
	seqChangeCipherSpec = 1 << 16
	seqFinished         = seqChangeCipherSpec + 1
)

// take adds an admitted record. It returns the records that the library gets now, as one datagram, or nil.
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

// keep inserts a part in order, unless it is a duplicate.
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

// whole reports whether the flight is complete up to ServerHelloDone, or up to the Finished of a resumption.
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
