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

// Event is something that happened, to be told outside (service-api.md 5). It is
// committed in one batch with the state that it tells of, and leaves after that.
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
