package coord

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"troupe/messages"
)

// Keys makes the keys of a cluster (docs/spec/cluster.md 3.1). It is what all of them begin with.
type Keys string

// KeysOf returns the keys of a cluster with a valid name.
func KeysOf(cluster string) Keys { return Keys("/troupe/" + cluster + "/") }

// Meta is the key of the cluster's Meta.
func (k Keys) Meta() string { return string(k) + "meta" }

// Secret is the key of the random bytes for a use.
func (k Keys) Secret(use string) string { return string(k) + "secret/" + use }

// Nodes is what the keys of registrations begin with.
func (k Keys) Nodes() string { return string(k) + "node/" }

// Node is the key of a node's registration.
func (k Keys) Node(name string) string { return k.Nodes() + name }

// Loads is what the keys of loads begin with.
func (k Keys) Loads() string { return string(k) + "load/" }

// Load is the key of a node's Load.
func (k Keys) Load(name string) string { return k.Loads() + name }

// Lead is the key of the Lead. The revision of its creation is the term.
func (k Keys) Lead() string { return string(k) + "lead" }

// Game is the key of the Game of a tag.
func (k Keys) Game(tag Tag) string { return string(k) + "game/" + string(tag) }

// Hosts is what the keys of all nodes' indexes begin with.
func (k Keys) Hosts() string { return string(k) + "host/" }

// Host is what the keys of a node's index begin with.
func (k Keys) Host(name string) string { return k.Hosts() + name + "/" }

// HostGame is the key of an entry in a node's index.
func (k Keys) HostGame(name string, tag Tag) string { return k.Host(name) + string(tag) }

// Gone is the key of what is left of a game session that has ended.
func (k Keys) Gone(tag Tag) string { return string(k) + "gone/" + string(tag) }

// Tag is the short name of a game session: the key of the directory, and the end of its player session ids.
type Tag string

// TagOf returns the tag of an ARN: the first 80 bits of its SHA-256 in 16 characters.
func TagOf(arn messages.GameSessionID) Tag {
	sum := sha256.Sum256([]byte(arn))
	return Tag(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])))
}

// Valid reports whether a text from outside may be a tag.
func (t Tag) Valid() bool {
	return len(t) == 16 && strings.Trim(string(t), "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// nameMax is how long names are at most, as those of hosts in DNS.
const nameMax = 63

// CheckName refuses a name of a cluster or node that has other characters than ASCII letters, digits and hyphens, or more than 63. what says
// what it names.
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
