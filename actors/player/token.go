package player

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// tokens are the reconnect tokens of a player session (reliability.md 2.2). A token is 32 bytes in base64url; only
// hashes are stored. Each attach makes a new token. Because a LOGIN_RESPONSE may be lost, the previous token stays
// valid until the player has provably received the new one.
type tokens struct {
	current, previous hash
}

type hash [sha256.Size]byte

// tokenKey is this process's key for deriving a token from the previous one.
var tokenKey = func() (key [sha256.Size]byte) {
	rand.Read(key[:]) // never fails since Go 1.24
	return key
}()

// renew makes the token of a new connection. used is the token of the connection's login, or "".
//
// Two logins with the same token get the same new token. This matters for a client that abandons one login and sends
// another: it may receive the answer to either, and the host may handle them in either order.
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

// good checks a token in constant time. old says that the previous token is still valid. t may be nil.
func (t *tokens) good(token string, old bool) bool {
	if t == nil {
		return false
	}
	h := hash(sha256.Sum256([]byte(token)))
	current := subtle.ConstantTimeCompare(h[:], t.current[:])
	previous := subtle.ConstantTimeCompare(h[:], t.previous[:])
	return current == 1 || old && previous == 1
}
