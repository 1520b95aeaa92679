package messages

import "time"

// EventKind says what an event is about.
type EventKind string

// Event kinds.
const (
	EventPlacement     EventKind = "placement"
	EventGameSession   EventKind = "gamesession"
	EventPlayerSession EventKind = "playersession"
)

// Event reports something that happened to a receiver outside the host (service-api.md 5). It
// is committed in one transaction with the state that it reports, and delivered after that.
type Event struct {
	ID     string // a ULID: later events have greater ones
	Kind   EventKind
	Type   string // detail.type, such as PlacementFulfilled
	Time   time.Time
	Name   string // of the queue, or id of the fleet
	ARN    string // the one resource
	Target string // NotificationTarget of the queue; empty: only sinks that take everything
	Detail []byte // JSON object
}
