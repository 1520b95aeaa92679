package dtls

import (
	"encoding/binary"

	"troupe/messages/counters"
)

// Handshake messages that the filter admits (RFC 5246 section 7.4).
const (
	msgClientHello       = 1
	msgServerHello       = 2
	msgHelloVerify       = 3
	msgCertificate       = 11
	msgServerKeyExchange = 12
	msgServerHelloDone   = 14
	msgClientKeyExchange = 16
)

const (
	messageHeaderSize = 12
	randomSize        = 32
	suiteChaCha20     = 0xcca9
	suiteAESGCM       = 0xc02b
)

// message is one whole or partial handshake message, its body still in the record.
type message struct {
	typ      uint8
	length   int // of the whole message
	sequence uint16
	offset   int
	body     []byte // this part of it
}

// nextMessage splits the first handshake message off a fragment.
func nextMessage(b []byte) (m message, rest []byte, ok bool) {
	if len(b) < messageHeaderSize {
		return message{}, nil, false
	}
	size := int(b[9])<<16 | int(b[10])<<8 | int(b[11])
	m = message{typ: b[0], length: int(b[1])<<16 | int(b[2])<<8 | int(b[3]), sequence: binary.BigEndian.Uint16(b[4:]),
		offset: int(b[6])<<16 | int(b[7])<<8 | int(b[8])}
	end := messageHeaderSize + size
	if end > len(b) || m.offset+size > m.length {
		return message{}, nil, false
	}
	m.body = b[messageHeaderSize:end]
	return m, b[end:], true
}

// whole reports whether the message is not fragmented.
func (m *message) whole() bool { return m.offset == 0 && len(m.body) == m.length }

// clientHello holds the fields of a ClientHello that this package uses.
type clientHello struct {
	random [randomSize]byte
	suite  counters.Suite // the best of those offered, 0 for none
}

// readClientHello reads the ClientHello at the start of a datagram. It must be unfragmented, and
// every length in it must be valid.
func readClientHello(r *record) (h clientHello, ok bool) {
	if r.typ != handshake || r.epoch != 0 {
		return h, false
	}
	m, _, ok := nextMessage(r.fragment)
	if !ok || m.typ != msgClientHello || !m.whole() {
		return h, false
	}
	return parseClientHello(m.body)
}

func parseClientHello(b []byte) (h clientHello, ok bool) {
	in := reader{b: b}
	in.take(2)
	copy(h.random[:], in.take(randomSize))
	in.bounded(1, 32)  // session id
	in.bounded(1, 255) // cookie
	suites := in.bounded(2, 1<<16-1)
	compressions := in.bounded(1, 255)
	if in.bad || len(suites) == 0 || len(suites)%2 != 0 || len(compressions) == 0 {
		return h, false
	}
	for ; len(suites) > 0; suites = suites[2:] {
		switch binary.BigEndian.Uint16(suites) {
		case suiteChaCha20:
			h.suite = counters.SuiteChaCha20
		case suiteAESGCM:
			if h.suite == 0 {
				h.suite = counters.SuiteAESGCM
			}
		}
	}
	if len(in.b) == 0 {
		return h, true
	}
	extensions := reader{b: in.bounded(2, 1<<16-1)}
	for len(extensions.b) > 0 && !extensions.bad {
		extensions.take(2)
		extensions.bounded(2, 1<<16-1)
	}
	return h, !in.bad && len(in.b) == 0 && !extensions.bad
}

// reader takes bytes from the front of b until there are too few.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

// bounded takes a vector with a length of size bytes, which must not exceed most.
func (r *reader) bounded(size, most int) []byte {
	n := 0
	for _, b := range r.take(size) {
		n = n<<8 | int(b)
	}
	if n > most {
		r.bad = true
	}
	return r.take(n)
}
