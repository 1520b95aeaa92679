package coord

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"troupe/messages"
)

// Keys is the prefix of all keys of a cluster (docs/spec/cluster.md 3.1). Its methods return the keys.
type Keys string

// KeysOf returns the Keys of a cluster. The name must be valid.
func KeysOf(cluster string) Keys { return Keys("/troupe/" + cluster + "/") }

// Meta returns the key of the cluster's Meta record.
func (k Keys) Meta() string { return string(k) + "meta" }

// Secret returns the key of the random bytes for a use.
func (k Keys) Secret(use string) string { return string(k) + "secret/" + use }

// Nodes returns the prefix of the keys of all registrations.
func (k Keys) Nodes() string { return string(k) + "node/" }

// Node returns the key of a node's registration.
func (k Keys) Node(name string) string { return k.Nodes() + name }

// Loads returns the prefix of the keys of all loads.
func (k Keys) Loads() string { return string(k) + "load/" }

// Load returns the key of a node's Load.
func (k Keys) Load(name string) string { return k.Loads() + name }

// Lead returns the key of the Lead record. The revision at which the key was created is the term.
func (k Keys) Lead() string { return string(k) + "lead" }

// Probe returns the key that a node writes to measure the coordinator.
func (k Keys) Probe(name string) string { return string(k) + "probe/" + name }

// Game returns the key of the Game record with a tag.
func (k Keys) Game(tag Tag) string { return string(k) + "game/" + string(tag) }

// Hosts returns the prefix of the keys in all nodes' indexes.
func (k Keys) Hosts() string { return string(k) + "host/" }

// Host returns the prefix of the keys in a node's index.
func (k Keys) Host(name string) string { return k.Hosts() + name + "/" }

// HostGame returns the key of an entry in a node's index.
func (k Keys) HostGame(name string, tag Tag) string { return k.Host(name) + string(tag) }

// Gone returns the key of the Gone record of a game session that has ended.
func (k Keys) Gone(tag Tag) string { return string(k) + "gone/" + string(tag) }

// Tag is the short name of a game session. It is the key of the session's directory record and the end of its player
// session ids.
type Tag string

// TagOf returns the tag of an ARN: the first 80 bits of the ARN's SHA-256 as 16 characters.
func TagOf(arn messages.GameSessionID) Tag {
	sum := sha256.Sum256([]byte(arn))
	return Tag(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])))
}

// WithTag returns a player session id that ends with the tag of its game session.
func WithTag(id messages.PlayerSessionID, of messages.GameSessionID) messages.PlayerSessionID {
	return id + messages.PlayerSessionID("-"+TagOf(of))
}

// TagIn returns the tag at the end of a player session id. It returns false if the id has none.
func TagIn(id messages.PlayerSessionID) (Tag, bool) {
	if len(id) != playerSessionLen+1+tagLen || !strings.HasPrefix(string(id), "psess-") || id[playerSessionLen] != '-' {
		return "", false
	}
	t := Tag(id[playerSessionLen+1:])
	return t, t.Valid()
}

const (
	tagLen           = 16
	playerSessionLen = len("psess-") + 36 // without a tag
)

// Valid reports whether a tag that was received from outside has the form of a tag.
func (t Tag) Valid() bool {
	return len(t) == tagLen && strings.Trim(string(t), "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// nameMax is the maximum length of a name, the same as for host names in DNS.
const nameMax = 63

// CheckName returns an error unless a cluster's or node's name consists of ASCII letters, digits and hyphens, and has at
// most 63 characters. what describes the named thing in the error.
func CheckName(what, name string) error {
	for _, c := range []byte(name) {
		if c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return fmt.Errorf("%s %q: only letters, digits and hyphens are allowed", what, name)
		}
	}
	if len(name) == 0 || len(name) > nameMax {
		return fmt.Errorf("%s %q: must have 1 to %d characters", what, name, nameMax)
	}
	return nil
}
