package coord

import (
	"time"

	"troupe/messages"
)

// Node is the registration of a node, the value of its key.
type Node struct {
	Name        string   `json:"name"`
	Peers       string   `json:"peers"` // host:port at which other nodes reach it
	Locations   []string `json:"locations,omitempty"`
	Version     string   `json:"version"`  // of Troupe, for people
	Protocol    Range    `json:"protocol"` // of requests between nodes
	Schema      Range    `json:"schema"`   // of records
	Generation  int64    `json:"generation,omitempty"`
	Resources   string   `json:"resources,omitempty"` // a hash of the configured resources
	Draining    bool     `json:"draining,omitempty"`
	Incarnation int64    `json:"-"` // the revision at which the key was created; 0: not registered
}

// Range is the versions that a node speaks, from Low to High.
type Range struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// Overlaps reports whether two nodes have a version in common.
func (r Range) Overlaps(o Range) bool { return r.Low <= o.High && o.Low <= r.High }

// Hello asks a node who it is. It is answered at any time, also by a node that is adrift or drains.
type Hello struct {
	messages.ToThisHost[HelloAnswer]
}

// HelloAnswer is the answer to Hello.
type HelloAnswer struct {
	Node        Node
	Incarnation int64
	Clock       time.Time // of the node that answers
	Coordinator bool      // the node's last request to its coordinator was answered
}

// Reach asks a node to send Hello to another, and says what came of it.
type Reach struct {
	messages.ToThisHost[Reached]
	Node        Node
	Incarnation int64
}

// Reached is the answer to Reach.
type Reached struct{ Outcome Outcome }

// Outcome says what came of an attempt to reach a node.
type Outcome uint8

// Outcomes. A node of another name or incarnation at the address counts as refused: the process that was asked for is gone.
const (
	Answered Outcome = iota + 1
	Refused          // nobody listens at the address
	Silent           // no answer in time
)
