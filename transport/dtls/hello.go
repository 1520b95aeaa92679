package dtls

import (
	"cmp"

	"golang.org/x/crypto/cryptobyte"

	"troupe/messages/counters"
)

// Types of the handshake messages that the filter admits (RFC 5246 section 7.4).
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
	sessionIDMax      = 32
	suiteChaCha20     = 0xcca9
	suiteAESGCM       = 0xc02b
)

// message is one complete handshake message or a fragment of one. body points into the record.
type message struct {
	typ      uint8
	length   int // of the complete message
	sequence uint16
	offset   int
	body     []byte // the part of the message in this fragment
}

// nextMessage splits the first handshake message off b.
func nextMessage(b []byte) (m message, rest []byte, ok bool) {
	in := cryptobyte.String(b)
	var length, offset uint32
	var body cryptobyte.String
	if !in.ReadUint8(&m.typ) || !in.ReadUint24(&length) || !in.ReadUint16(&m.sequence) || !in.ReadUint24(&offset) ||
		!in.ReadUint24LengthPrefixed(&body) || int(offset)+len(body) > int(length) {
		return message{}, nil, false
	}
	m.length, m.offset, m.body = int(length), int(offset), body
	return m, in, true
}

func (m *message) whole() bool { return m.offset == 0 && len(m.body) == m.length }

// clientHello holds the fields of a ClientHello that this package uses.
type clientHello struct {
	random [randomSize]byte
	suite  counters.Suite // the best suite that was offered; 0 if none is supported
}

// readClientHello reads the ClientHello at the start of a datagram. It must be unfragmented and have valid lengths.
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
	in := cryptobyte.String(b)
	var session, cookie, suites, compressions, extensions, extension cryptobyte.String
	if !in.Skip(2) || !in.CopyBytes(h.random[:]) || !in.ReadUint8LengthPrefixed(&session) || len(session) > sessionIDMax ||
		!in.ReadUint8LengthPrefixed(&cookie) || !in.ReadUint16LengthPrefixed(&suites) || !in.ReadUint8LengthPrefixed(&compressions) ||
		len(suites) == 0 || len(suites)%2 != 0 || len(compressions) == 0 {
		return h, false
	}
	for suite := uint16(0); suites.ReadUint16(&suite); {
		switch suite {
		case suiteChaCha20:
			h.suite = counters.SuiteChaCha20
		case suiteAESGCM:
			h.suite = cmp.Or(h.suite, counters.SuiteAESGCM)
		}
	}
	if in.Empty() {
		return h, true
	}
	if !in.ReadUint16LengthPrefixed(&extensions) || !in.Empty() {
		return h, false
	}
	for !extensions.Empty() {
		if !extensions.Skip(2) || !extensions.ReadUint16LengthPrefixed(&extension) {
			return h, false
		}
	}
	return h, true
}
