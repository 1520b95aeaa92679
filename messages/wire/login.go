package wire

// Field numbers of LoginCommand.
const (
	fieldLoginPlayerSessionID = 1
	fieldLoginClientVersion   = 2
	fieldLoginCaps            = 1001
	fieldLoginReconnectToken  = 1002
	fieldLoginLastReceived    = 1003
)

// CapNumbers is Caps' only bit: reliable packets after the login are numbered and acknowledged both ways (reliability.md 2.4).
const CapNumbers uint64 = 1

// Login is LOGIN's inner message (realtime.md 3.2). The last three are the extension's, zero for stock clients.
type Login struct {
	PlayerSessionID string
	ClientVersion   int32 // ClientVersion for all known clients

	Caps           uint64 // capabilities of the client, a bit set; 0 = stock
	ReconnectToken string // token of the last LOGIN_RESPONSE, empty at first
	LastReceived   uint64 // highest reliable number received from the server
}

// ParseLogin decodes LOGIN's inner message. Strings are copies, bounded only by the input. Errors match ErrMalformed.
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

// append appends the inner message; strings must be valid UTF-8.
func (l *Login) append(dst []byte) []byte {
	dst = appendString(dst, fieldLoginPlayerSessionID, l.PlayerSessionID)
	dst = appendInt32(dst, fieldLoginClientVersion, l.ClientVersion)
	dst = appendUint64(dst, fieldLoginCaps, l.Caps)
	dst = appendString(dst, fieldLoginReconnectToken, l.ReconnectToken)
	return appendUint64(dst, fieldLoginLastReceived, l.LastReceived)
}
