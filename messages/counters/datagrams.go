package counters

// RecordDrop is why the DTLS or KCP layer dropped a datagram or a record, without an answer.
type RecordDrop uint8

// Record drops. DTLS first, then KCP.
const (
	RecordMalformed      RecordDrop = iota + 1 // no DTLS record, or a wrong length
	RecordUnknownAddress                       // not a ClientHello, from an unknown address
	RecordForged                               // does not decrypt
	RecordReplayed                             // number seen before, or older than the window
	RecordPlainAfter                           // epoch 0 on an established association
	RecordUnexpected                           // of an unexpected type or epoch
	RecordFragment                             // a handshake fragment that no honest peer sends
	RecordHandshakeCap                         // a handshake over its limit of records or bytes
	RecordHelloMalformed                       // a ClientHello that does not parse
	RecordTooLarge                             // over the size of a datagram or of plain text
	RecordEarly                                // application data before the end of the handshake, beyond the buffer
	RecordNotSent                              // the kernel did not take it
	RecordExhausted                            // the association has used up its record numbers
	SegmentMalformed                           // no KCP segments, or a wrong length
	SegmentTooLarge                            // a segment too large for the control block
	SegmentConversation                        // another conversation number
	SegmentFrame                               // a frame type that does not exist
)

var recordDropNames = []string{
	"malformed", "unknown_address", "forged", "replayed", "plain_after_established", "unexpected", "fragment",
	"handshake_cap", "hello_malformed", "too_large", "early", "not_sent", "exhausted", "segment_malformed",
	"segment_too_large", "segment_conversation", "frame_type",
}

// String returns the label value.
func (d RecordDrop) String() string { return name(d, recordDropNames) }

// HandshakeOutcome is how a DTLS handshake ended, or why it was refused.
type HandshakeOutcome uint8

// Handshake outcomes.
const (
	HandshakeFull         HandshakeOutcome = iota + 1 // established with a key exchange
	HandshakeResumed                                  // established from a remembered session
	HandshakeFailed                                   // the peers did not agree, or the peer broke a rule
	HandshakeTimedOut                                 // not finished in time
	HandshakeEvicted                                  // unverified, displaced by a newer one
	HandshakeRefusedTotal                             // too many half-open handshakes
	HandshakeRefusedPerIP                             // too many half-open handshakes of one address
	HandshakeRefusedRate                              // too many new ones per second
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

// IdentityCheck is the answer to a VERIFY_IDENTITY (realtime.md 8).
type IdentityCheck uint8

// Identity checks.
const (
	IdentityVerified IdentityCheck = iota + 1
	IdentityRefused
	IdentityLate // no VERIFY_IDENTITY in time
)

var identityCheckNames = []string{"verified", "refused", "late"}

// String returns the label value.
func (c IdentityCheck) String() string { return name(c, identityCheckNames) }
