package uploads

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"troupe/messages"
)

const tokenLife = 6 * time.Hour

// Token returns a session token for the upload of a build.
func (u *Uploads) Token(id messages.BuildID) string {
	ends := binary.BigEndian.AppendUint64(nil, uint64(u.o.Now().Add(tokenLife).Unix()))
	return base64.RawURLEncoding.EncodeToString(append(ends, u.mac(id, ends)...))
}

// valid reports whether a token is one of a build, and has not expired.
func (u *Uploads) valid(token string, id messages.BuildID) bool {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 8+sha256.Size {
		return false
	}
	return hmac.Equal(raw[8:], u.mac(id, raw[:8])) && u.o.Now().Unix() < int64(binary.BigEndian.Uint64(raw))
}

func (u *Uploads) mac(id messages.BuildID, ends []byte) []byte {
	m := hmac.New(sha256.New, u.o.Key)
	m.Write([]byte("upload of "))
	m.Write(ends)
	m.Write([]byte(id))
	return m.Sum(nil)
}
