package wire

// Field numbers of the identity messages, PlayerConnectMessage and PlayerDisconnectMessage.
const (
	fieldVerifyPeerID       = 1
	fieldVerifyConnectToken = 2

	fieldVerifiedSuccess = 1
	fieldVerifiedPeerID  = 2

	fieldPresencePeerID = 1
)

// VerifyIdentity is the inner message with which a client binds its DTLS association to its peer id (realtime.md 8.1).
type VerifyIdentity struct {
	PeerID       int32
	ConnectToken string // as received in LOGIN_RESPONSE
}

// VerifyIdentityResult is the inner message of VERIFY_IDENTITY_RESPONSE. PeerID is 0 on failure.
type VerifyIdentityResult struct {
	Success bool
	PeerID  int32
}

// ParseVerifyIdentity decodes the inner message of VERIFY_IDENTITY. The token is a copy. Errors match ErrMalformed.
func ParseVerifyIdentity(inner []byte) (VerifyIdentity, error) {
	return parseInto(inner, func(v *VerifyIdentity, f *field) (err error) {
		switch {
		case f.typ == typeVarint && f.number == fieldVerifyPeerID:
			v.PeerID = int32(f.varint)
		case f.typ == typeBytes && f.number == fieldVerifyConnectToken:
			v.ConnectToken, err = text(f.bytes)
		}
		return err
	})
}

// append appends the inner message. The token must be valid UTF-8.
func (v *VerifyIdentity) append(dst []byte) []byte {
	dst = appendInt32(dst, fieldVerifyPeerID, v.PeerID)
	return appendString(dst, fieldVerifyConnectToken, v.ConnectToken)
}

// ParseVerifyIdentityResult decodes the inner message of VERIFY_IDENTITY_RESPONSE. Errors match ErrMalformed. It is for
// clients only.
func ParseVerifyIdentityResult(inner []byte) (VerifyIdentityResult, error) {
	return parseInto(inner, func(r *VerifyIdentityResult, f *field) error {
		switch {
		case f.typ == typeVarint && f.number == fieldVerifiedSuccess:
			r.Success = f.varint != 0
		case f.typ == typeVarint && f.number == fieldVerifiedPeerID:
			r.PeerID = int32(f.varint)
		}
		return nil
	})
}

func (r *VerifyIdentityResult) append(dst []byte) []byte {
	dst = appendBool(dst, fieldVerifiedSuccess, r.Success)
	return appendInt32(dst, fieldVerifiedPeerID, r.PeerID)
}
