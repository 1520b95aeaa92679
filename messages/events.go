package messages

import "time"

// EventKind is the kind of resource that an event is about.
type EventKind string

// Vendor reports whether GameLift also has events of this kind. Otherwise only Troupe has them.
func (k EventKind) Vendor() bool { return k == EventPlacement || k == EventMatchmaking }

// Event kinds.
const (
	EventPlacement     EventKind = "placement"
	EventGameSession   EventKind = "gamesession"
	EventPlayerSession EventKind = "playersession"
	EventMatchmaking   EventKind = "matchmaking"
	EventOperator      EventKind = "operator" // what an operator has done on the host
)

// Event informs receivers outside the host about a change (service-api.md 5). It is committed together with the change
// and delivered afterwards.
type Event struct {
	ID     string // a UUID of version 7: later events have higher ids
	Kind   EventKind
	Type   string // detail.type, such as PlacementFulfilled
	Time   time.Time
	Name   string // name of the queue or matchmaking configuration, or id of the fleet
	ARN    string // ARN of the resource
	Target string // NotificationTarget of the queue or matchmaking configuration; if empty, only sinks that accept all events receive it
	Detail []byte // a JSON object
}
