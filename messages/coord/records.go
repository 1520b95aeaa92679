package coord

import (
	"encoding/json"
	"fmt"
	"time"

	"troupe/messages"
)

// Meta contains what all nodes of a cluster have in common.
type Meta struct {
	ID     string `json:"id"`     // random id of the cluster
	Schema int    `json:"schema"` // version of the records
}

// Load is the load of a registered node, as written for the other nodes.
type Load struct {
	Places  []Place `json:"places,omitempty"`
	Players int     `json:"players,omitempty"`
	CPU     float64 `json:"cpu,omitempty"` // load of the machine, from 0 to 1
}

// Place is the load of a fleet in one location of a node.
type Place struct {
	Fleet    string `json:"fleet"`
	Location string `json:"location"`
	Room     int    `json:"room,omitempty"` // number of game sessions that can start now
	Live     int    `json:"live,omitempty"` // number of game sessions that have started and not ended
	Warm     int    `json:"warm,omitempty"` // number of processes that wait for a game session
}

// Lead names the leader of the cluster.
type Lead struct {
	Node        string `json:"node"`
	Incarnation int64  `json:"incarnation"`
}

// Game is the directory's record of a game session. The other fields are those of messages.GameSession.
type Game struct {
	ARN           messages.GameSessionID `json:"arn"`
	Owner         string                 `json:"owner"`       // name of the node that runs the game session
	Incarnation   int64                  `json:"incarnation"` // incarnation of the owner when it wrote the record
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
	Token         string                 `json:"token,omitempty"`       // token of the request that created the game session
	Fingerprint   []byte                 `json:"fingerprint,omitempty"` // fingerprint of that request
	Placement     string                 `json:"placement,omitempty"`
	Moves         int                    `json:"moves,omitempty"`
}

// HostGame is an entry in a node's index of its game sessions.
type HostGame struct {
	Incarnation int64  `json:"incarnation"`
	Peers       string `json:"peers,omitempty"` // the node's address, for a leader that does not know the node
}

// Gone is the remaining record of a game session that has ended.
type Gone struct {
	Game
	Ended time.Time `json:"ended"`
	Text  string    `json:"text,omitempty"` // why the game session ended; "" if its owner ended it
}

// Encode returns the value of a record.
func Encode(record any) []byte {
	value, err := json.Marshal(record)
	if err != nil {
		panic(err) // a bug: these values always encode
	}
	return value
}

// Decode reads a record. It ignores unknown fields, which newer nodes may write.
func Decode[R any](kv KV) (record R, err error) {
	if err := json.Unmarshal(kv.Value, &record); err != nil {
		return record, fmt.Errorf("%s: %w", kv.Key, err)
	}
	return record, nil
}

// DecodeNode reads a registration and sets its incarnation.
func DecodeNode(kv KV) (Node, error) {
	n, err := Decode[Node](kv)
	n.Incarnation = kv.Created
	return n, err
}
