package coord

import (
	"encoding/json"
	"fmt"
	"time"

	"troupe/messages"
)

// Meta is what all nodes of a cluster have in common.
type Meta struct {
	ID     string `json:"id"`     // random
	Schema int    `json:"schema"` // of the records
}

// Load is what a node tells the others about itself while it is registered.
type Load struct {
	Places  []Place `json:"places,omitempty"`
	Players int     `json:"players,omitempty"`
	CPU     float64 `json:"cpu,omitempty"` // 0 to 1, of the machine
}

// Place is a fleet at a location of a node.
type Place struct {
	Fleet    string `json:"fleet"`
	Location string `json:"location"`
	Room     int    `json:"room,omitempty"` // game sessions that may begin now
	Live     int    `json:"live,omitempty"` // game sessions that have begun and not ended
	Warm     int    `json:"warm,omitempty"` // processes that wait for a game session
}

// Lead names the leader.
type Lead struct {
	Node        string `json:"node"`
	Incarnation int64  `json:"incarnation"`
}

// Game is the directory's record of a game session. The other fields are those of messages.GameSession.
type Game struct {
	ARN           messages.GameSessionID `json:"arn"`
	Owner         string                 `json:"owner"`       // the node that runs it
	Incarnation   int64                  `json:"incarnation"` // of the owner, when it wrote the record
	Fleet         messages.FleetID       `json:"fleet"`
	Location      string                 `json:"location"`
	Name          string                 `json:"name,omitempty"`
	Creator       string                 `json:"creator,omitempty"`
	Properties    []messages.Property    `json:"properties,omitempty"`
	PlayersMax    int                    `json:"playersMax,omitempty"`
	Created       time.Time              `json:"created"`
	IPAddress     string                 `json:"ip,omitempty"`
	DNSName       string                 `json:"dns,omitempty"`
	Port          int                    `json:"port,omitempty"`
	ScriptVersion string                 `json:"scriptVersion,omitempty"`
	Token         string                 `json:"token,omitempty"`       // of the request that made it
	Fingerprint   []byte                 `json:"fingerprint,omitempty"` // of that request
	Placement     string                 `json:"placement,omitempty"`
	Moves         int                    `json:"moves,omitempty"`
}

// HostGame is an entry in a node's index of its game sessions.
type HostGame struct {
	Incarnation int64  `json:"incarnation"`
	Peers       string `json:"peers,omitempty"` // the node's address, for a leader that does not know the node
}

// Gone is what is left of a game session that has ended.
type Gone struct {
	Game
	Ended time.Time `json:"ended"`
	Text  string    `json:"text,omitempty"` // why; "" for one that its owner has ended
}

// Encode returns the value of a record.
func Encode(record any) []byte {
	value, err := json.Marshal(record)
	if err != nil {
		panic(err) // a bug: plain values
	}
	return value
}

// Decode reads a record. It ignores fields that it does not know, which newer nodes may write.
func Decode[R any](kv KV) (record R, err error) {
	if err := json.Unmarshal(kv.Value, &record); err != nil {
		return record, fmt.Errorf("%s: %w", kv.Key, err)
	}
	return record, nil
}

// DecodeNode reads a registration, with its incarnation.
func DecodeNode(kv KV) (Node, error) {
	n, err := Decode[Node](kv)
	n.Incarnation = kv.Created
	return n, err
}
