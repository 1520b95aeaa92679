package dtls

import (
	"golang.org/x/crypto/cryptobyte"

	"troupe/messages/counters"
)

// Limits of one handshake. A normal handshake takes about ten records.
const (
	handshakeRecordsMax = 64
	handshakeBytesMax   = 32 << 10
	handshakeMessageMax = 6 << 10 // in bytes; a flight fits the library's read buffer of 8 KiB
	// Maximum numbers of application records that are kept until the handshake is complete. In a
	// resumption, data comes right after the Finished.
	earlyMax         = 16
	earlyUnprovenMax = 2
)

// filter decides which records of a peer reach the library during a handshake. Input that makes the library panic must
// be stopped here, because a panic in the library's own goroutines cannot be recovered.
type filter struct {
	client         bool // this side is the client
	suite          counters.Suite
	random         [randomSize]byte // of the peer's ClientHello; server side only
	records, bytes int
}

// admit returns the reason for withholding a record from the library, or 0 if it may pass.
func (f *filter) admit(r *record) counters.RecordDrop {
	if drop := f.kind(r); drop != 0 {
		return drop
	}
	f.records++
	f.bytes += len(r.raw)
	if f.records > handshakeRecordsMax || f.bytes > handshakeBytesMax {
		return counters.RecordHandshakeCap
	}
	return 0
}

func (f *filter) kind(r *record) counters.RecordDrop {
	switch {
	case r.epoch > 1:
		return counters.RecordUnexpected
	case r.epoch == 1:
		// Only Finished is encrypted: a message header and 12 bytes of verify data.
		if r.typ != handshake || len(r.fragment) != messageHeaderSize+12+f.sealing() {
			return counters.RecordUnexpected
		}
		return 0
	case r.typ == changeCipherSpec:
		if len(r.fragment) != 1 || r.fragment[0] != 1 {
			return counters.RecordUnexpected
		}
		return 0
	case r.typ == handshake:
		return f.messages(r.fragment)
	}
	return counters.RecordUnexpected
}

// sealing returns how many bytes encryption adds to a fragment.
func (f *filter) sealing() int {
	if f.suite == counters.SuiteAESGCM {
		return explicitSize + tagSize
	}
	return tagSize
}

func (f *filter) messages(b []byte) counters.RecordDrop {
	for len(b) > 0 {
		m, rest, ok := nextMessage(b)
		switch {
		case !ok, m.length > handshakeMessageMax, m.sequence > 15:
			return counters.RecordFragment
		case len(m.body) == 0 && m.length != 0:
			return counters.RecordFragment // an empty fragment would only use memory
		}
		from := f.fromClient
		if f.client {
			from = f.fromServer
		}
		if drop := from(&m); drop != 0 {
			return drop
		}
		b = rest
	}
	return 0
}

// fromClient admits unfragmented key exchanges, and unfragmented ClientHellos of this handshake.
func (f *filter) fromClient(m *message) counters.RecordDrop {
	if !m.whole() {
		return counters.RecordFragment
	}
	switch m.typ {
	case msgClientHello:
		h, ok := parseClientHello(m.body)
		if !ok || !libraryReads(m) {
			return counters.RecordHelloMalformed
		}
		if h.random != f.random {
			return counters.RecordUnexpected // it belongs to another handshake
		}
		return 0
	case msgClientKeyExchange:
		if len(m.body) < 2 || int(m.body[0]) != len(m.body)-1 {
			return counters.RecordUnexpected
		}
		return 0
	}
	return counters.RecordUnexpected
}

// fromServer admits the messages that this package's server sends. Certificates may be fragmented.
func (f *filter) fromServer(m *message) counters.RecordDrop {
	switch m.typ {
	case msgServerHello:
		in := cryptobyte.String(m.body)
		var session cryptobyte.String
		var suite uint16
		if !m.whole() || !in.Skip(2+randomSize) || !in.ReadUint8LengthPrefixed(&session) || len(session) > sessionIDMax ||
			!in.ReadUint16(&suite) || suite != suiteChaCha20 {
			return counters.RecordUnexpected // this side did not offer the suite
		}
	case msgHelloVerify, msgServerHelloDone, msgServerKeyExchange:
		if !m.whole() {
			return counters.RecordFragment
		}
	case msgCertificate:
	default:
		return counters.RecordUnexpected
	}
	if m.whole() && !libraryReads(m) {
		return counters.RecordUnexpected
	}
	return 0
}
