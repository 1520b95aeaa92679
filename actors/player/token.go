package player

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// tokens are a player session's reconnect tokens (reliability.md 2.2): 32 bytes as base64url, kept as hashes. Each attach
// makes a new one. The previous one is valid until the player is proved to have the new one: a LOGIN_RESPONSE may be lost.
type tokens struct {
	current, previous hash
}

type hash [sha256.Size]byte

// tokenKey is the key of this process for tokens that follow another one.
var tokenKey = func() (key [sha256.Size]byte) {
	rand.Read(key[:]) // never fails since Go 1.24
	return key
}()

// renew makes the token of a new connection. Used is the token of its login, or "".
//
// Two logins with the same token get the same new token: a client that gives up one
// login and sends another may get either's answer, handled in either order.
func (t *tokens) renew(used string) string {
	var secret [sha256.Size]byte
	if used == "" {
		t.previous = t.current
		rand.Read(secret[:])
	} else {
		t.previous = sha256.Sum256([]byte(used))
		next := hmac.New(sha256.New, tokenKey[:])
		next.Write([]byte(used))
		next.Sum(secret[:0])
	}
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
