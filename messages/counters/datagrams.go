package counters

// RecordDrop is the reason why the DTLS or KCP layer dropped a datagram or a record without an answer.
type RecordDrop uint8

// Values of RecordDrop. Those of DTLS come first, then those of KCP.
const (
	RecordMalformed      RecordDrop = iota + 1 // not a DTLS record, or a wrong length
	RecordUnknownAddress                       // from an unknown address and not a ClientHello
	RecordForged                               // cannot be decrypted
	RecordReplayed                             // the number has been seen before or is older than the window
	RecordPlainAfter                           // epoch 0 on an established association
	RecordUnexpected                           // unexpected type or epoch
	RecordFragment                             // a handshake fragment that no well-behaved peer sends
	RecordHandshakeCap                         // the handshake exceeds its limit of records or bytes
	RecordHelloMalformed                       // a ClientHello that cannot be parsed
	RecordTooLarge                             // exceeds the maximum size of a datagram or of plaintext
	RecordEarly                                // application data before the end of the handshake that exceeds the buffer
	RecordNotSent                              // the kernel did not accept it
	RecordExhausted                            // the association has used up its record numbers
	SegmentMalformed                           // not a sequence of KCP segments, or a wrong length
	SegmentTooLarge                            // a segment too large for the control block
	SegmentConversation                        // wrong conversation number
	SegmentFrame                               // unknown frame type
)

var recordDropNames = []string{
	"malformed", "unknown_address", "forged", "replayed", "plain_after_established", "unexpected", "fragment",
	"handshake_cap", "hello_malformed", "too_large", "early", "not_sent", "exhausted", "segment_malformed",
	"segment_too_large", "segment_conversation", "frame_type",
}

// String returns the label value.
func (d RecordDrop) String() string { return name(d, recordDropNames) }

// HandshakeOutcome is the outcome of a DTLS handshake, or the reason why it was refused.
type HandshakeOutcome uint8

// Handshake outcomes.
const (
	HandshakeFull         HandshakeOutcome = iota + 1 // established with a key exchange
	HandshakeResumed                                  // established by resuming a session
	HandshakeFailed                                   // no agreement between the peers, or a protocol violation
	HandshakeTimedOut                                 // not finished in time
	HandshakeEvicted                                  // unverified and displaced by a newer handshake
	HandshakeRefusedTotal                             // too many half-open handshakes
	HandshakeRefusedPerIP                             // too many half-open handshakes from one address
	HandshakeRefusedRate                              // too many new handshakes per second
	HandshakeRefusedFull                              // too many associations
)

var handshakeOutcomeNames = []string{
	"full", "resumed", "failed", "timed_out", "evicted", "refused_total", "refused_per_ip", "refused_rate",
	"refused_full",
}

// String returns the label value.
func (o HandshakeOutcome) String() string { return name(o, handshakeOutcomeNames) }

// Suite is the cipher suite of a DTLS association.
type Suite uint8

// Suites.
const (
	SuiteChaCha20 Suite = iota + 1 // TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
	SuiteAESGCM                    // TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
)

var suiteNames = []string{"chacha20_poly1305", "aes_128_gcm"}

// String returns the label value.
func (s Suite) String() string { return name(s, suiteNames) }

// IdentityCheck is the result of a VERIFY_IDENTITY (realtime.md 8).
type IdentityCheck uint8

// Identity checks.
const (
	IdentityVerified IdentityCheck = iota + 1
	IdentityRefused
	IdentityLate // no VERIFY_IDENTITY arrived in time
)

var identityCheckNames = []string{"verified", "refused", "late"}

// String returns the label value.
func (c IdentityCheck) String() string { return name(c, identityCheckNames) }
