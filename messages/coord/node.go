package coord

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"troupe/messages"
)

// Node is the registration of a node. It is the value of the node's key.
type Node struct {
	Name        string   `json:"name"`
	Peers       string   `json:"peers"`             // host:port at which other nodes reach this node
	Players     string   `json:"players,omitempty"` // addresses for players, as the text of wire.Endpoints; "" until the node accepts players
	Locations   []string `json:"locations,omitempty"`
	Version     string   `json:"version"`  // version of Troupe, for display
	Protocol    Range    `json:"protocol"` // supported versions of the requests between nodes
	Schema      Range    `json:"schema"`   // supported versions of the records
	Generation  int64    `json:"generation,omitempty"`
	Resources   string   `json:"resources,omitempty"` // hashes of the configured resources, as "fleets=1f2e queues=3d4c"
	Draining    bool     `json:"draining,omitempty"`
	Incarnation int64    `json:"-"` // revision at which the key was created; 0 means that the node is not registered
}

// Range is a range of versions that a node supports, from Low to High inclusive.
type Range struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// Overlaps reports whether two ranges have a version in common.
func (r Range) Overlaps(o Range) bool { return r.Low <= o.High && o.Low <= r.High }

// FirstDifference returns the name of the first part in which two texts in the form of Node.Resources differ.
func FirstDifference(a, b string) string {
	others := strings.Fields(b)
	for i, part := range strings.Fields(a) {
		if i >= len(others) || part != others[i] {
			name, _, _ := strings.Cut(part, "=")
			return name
		}
	}
	return "resources"
}

// Hello asks a node for its identity. It is always answered, even by a node that has lost its coordinator or that is
// draining.
type Hello struct {
	messages.ToThisHost[HelloAnswer]
}

// HelloAnswer is the answer to Hello.
type HelloAnswer struct {
	Node        Node
	Incarnation int64
	Clock       time.Time // the answering node's clock
	Coordinator bool      // the coordinator has answered all requests of the node's registration for the time of a lease
}

// Reach asks a node to send Hello to another node and to report the outcome.
type Reach struct {
	messages.ToThisHost[Reached]
	Node        Node
	Incarnation int64
}

// Reached is the answer to Reach.
type Reached struct{ Outcome Outcome }

// Detour asks a node to pass a request on to another node, which its sender does not reach.
type Detour struct {
	messages.ToThisHost[Detoured]
	To      Node
	Request string         // name of the request
	Body    jsontext.Value // the encoded request
}

// Detoured is the answer to Detour. Body is the encoded answer if the Outcome is Answered.
type Detoured struct {
	Outcome Outcome
	Body    jsontext.Value
}

// Outcome is the outcome of an attempt to reach a node.
type Outcome uint8

// Values of Outcome. If a node with another name or incarnation answers, the outcome is Refused, because the requested
// process is no longer running.
const (
	Answered Outcome = iota + 1
	Refused          // nobody listens at the address
	Silent           // no answer in time
)
