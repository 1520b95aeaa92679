package messages

import "time"

// EventKind names the kind of resource that an event is about.
type EventKind string

// Vendor reports whether GameLift has events of the kind, as opposed to Troupe alone.
func (k EventKind) Vendor() bool { return k == EventPlacement || k == EventMatchmaking }

// Event kinds.
const (
	EventPlacement     EventKind = "placement"
	EventGameSession   EventKind = "gamesession"
	EventPlayerSession EventKind = "playersession"
	EventMatchmaking   EventKind = "matchmaking"
	EventOperator      EventKind = "operator" // what an operator has done to the host
)

// Event tells receivers outside of a change (service-api.md 5). It is committed with the change, and delivered after that.
type Event struct {
	ID     string // a ULID: later events have greater ones
	Kind   EventKind
	Type   string // detail.type, such as PlacementFulfilled
	Time   time.Time
	Name   string // of the queue or matchmaking configuration, or id of the fleet
	ARN    string // of the resource
	Target string // NotificationTarget of the queue or matchmaking configuration; empty: only sinks that take everything
	Detail []byte // JSON object
}
