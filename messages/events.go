package messages

import "time"

// EventKind names the kind of resource that an event is about.
type EventKind string

// Event kinds.
const (
	EventPlacement     EventKind = "placement"
	EventGameSession   EventKind = "gamesession"
	EventPlayerSession EventKind = "playersession"
)

// Event tells receivers outside the host of a change (service-api.md 5). It is committed in
// one transaction with the change, and delivered after that.
type Event struct {
	ID     string // a ULID: later events have greater ones
	Kind   EventKind
	Type   string // detail.type, such as PlacementFulfilled
	Time   time.Time
	Name   string // of the queue, or id of the fleet
	ARN    string // of the resource
	Target string // NotificationTarget of the queue; empty: only sinks that take everything
	Detail []byte // JSON object
}
