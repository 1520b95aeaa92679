package wire

// Field numbers of LoginCommand.
const (
	fieldLoginPlayerSessionID = 1
	fieldLoginClientVersion   = 2
	fieldLoginCaps            = 1001
	fieldLoginReconnectToken  = 1002
	fieldLoginLastReceived    = 1003
)

// Bits of Caps.
const (
	// CapNumbers says that reliable packets after the login are numbered and acknowledged in both directions
	// (reliability.md 2.4).
	CapNumbers uint64 = 1
	// CapMoves says that the client goes to another node of a cluster if the host tells it to (cluster.md 8). Only a
	// client sends it.
	CapMoves uint64 = 2
)

// Login is the inner message of LOGIN (realtime.md 3.2). The last three fields belong to the extension and are zero for
// stock clients.
type Login struct {
	PlayerSessionID string
	ClientVersion   int32 // all known clients send ClientVersion

	Caps           uint64 // capabilities of the client as a bit set; 0 for a stock client
	ReconnectToken string // token from the last LOGIN_RESPONSE; empty at the first login
	LastReceived   uint64 // highest reliable number received from the server
}

// ParseLogin decodes the inner message of LOGIN. Strings are copies; only the size of the input limits them. Errors
// match ErrMalformed.
func ParseLogin(inner []byte) (Login, error) { return parseInto(inner, (*Login).set) }

func (l *Login) set(f *field) (err error) {
	switch f.typ {
	case typeVarint:
		switch f.number {
		case fieldLoginClientVersion:
			l.ClientVersion = int32(f.varint)
		case fieldLoginCaps:
			l.Caps = f.varint
		case fieldLoginLastReceived:
			l.LastReceived = f.varint
		}
	case typeBytes:
		switch f.number {
		case fieldLoginPlayerSessionID:
			l.PlayerSessionID, err = text(f.bytes)
		case fieldLoginReconnectToken:
			l.ReconnectToken, err = text(f.bytes)
		}
	}
	return err
}

// append appends the inner message. Strings must be valid UTF-8.
func (l *Login) append(dst []byte) []byte {
	dst = appendString(dst, fieldLoginPlayerSessionID, l.PlayerSessionID)
	dst = appendInt32(dst, fieldLoginClientVersion, l.ClientVersion)
	dst = appendUint64(dst, fieldLoginCaps, l.Caps)
	dst = appendString(dst, fieldLoginReconnectToken, l.ReconnectToken)
	return appendUint64(dst, fieldLoginLastReceived, l.LastReceived)
}
