package player

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// tokens are the reconnect tokens of one player session (reliability.md 2.2). A
// token is 32 random bytes as base64url; only its hash is kept. Each attach makes a
// new token. The previous token stays valid until the player has proved that it has
// the new one, because the LOGIN_RESPONSE with the new one may be lost.
type tokens struct {
	current, previous hash
}

type hash [sha256.Size]byte

// renew makes the token of a new connection. Used is the token of its login, or "".
func (t *tokens) renew(used string) string {
	t.previous = t.current
	if used != "" {
		t.previous = sha256.Sum256([]byte(used))
	}
	var secret [32]byte
	rand.Read(secret[:]) // never fails since Go 1.24
	token := base64.RawURLEncoding.EncodeToString(secret[:])
	t.current = sha256.Sum256([]byte(token))
	return token
}

// good checks a token in constant time. Old says that the previous token is valid, too. t may be nil.
func (t *tokens) good(token string, old bool) bool {
	if t == nil {
		return false
	}
	h := hash(sha256.Sum256([]byte(token)))
	current := subtle.ConstantTimeCompare(h[:], t.current[:])
	previous := subtle.ConstantTimeCompare(h[:], t.previous[:])
	return current == 1 || old && previous == 1
}
