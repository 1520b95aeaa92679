package messages

import (
	"time"
)

// PlacementID identifies a placement. The caller chooses it.
type PlacementID string

// QueueName identifies a queue. The caller chooses it.
type QueueName string

// Priority is a criterion by which a queue orders candidates (service-api.md 3.3).
type Priority string

// Values of Priority.
const (
	PriorityLatency     Priority = "LATENCY"
	PriorityCost        Priority = "COST"
	PriorityDestination Priority = "DESTINATION"
	PriorityLocation    Priority = "LOCATION"
)

// LatencyPolicy limits, for some time, the latency to a location that each player may have reported (service-api.md
// 3.2).
type LatencyPolicy struct {
	Max      int           // in ms
	Duration time.Duration // 0 means until the queue's timeout
}

// Queue is a game session queue. It is immutable once shared.
type Queue struct {
	Name             QueueName
	ARN              string
	Timeout          time.Duration
	Destinations     []string // ARNs of fleets and aliases, in order
	Policies         []LatencyPolicy
	AllowedLocations []string // nil means all
	PriorityOrder    []Priority
	LocationOrder    []string
	HasPriority      bool // the queue has a PriorityConfiguration
	CustomEventData  string
	Notify           string // NotificationTarget
	Created          time.Time
	Tags             map[string]string
	Call             string `json:",omitempty"` // see WithID
}

// PlacementStatus is the state of a placement (service-api.md 2.9).
type PlacementStatus uint8

// Values of PlacementStatus. All but the first are final.
const (
	PlacementPending PlacementStatus = iota + 1
	PlacementFulfilled
	PlacementCancelled
	PlacementTimedOut
	PlacementFailed
)

var placementStatusNames = [...]string{"", "PENDING", "FULFILLED", "CANCELLED", "TIMED_OUT", "FAILED"}

// String returns the status name used by the API.
func (s PlacementStatus) String() string { return nameOf(placementStatusNames[:], int(s)) }

// Final reports whether the status is final, so that it never changes again.
func (s PlacementStatus) Final() bool { return s > PlacementPending }

// PlayerLatency is the latency that a player has measured to one location.
type PlayerLatency struct {
	PlayerID PlayerID
	Location string
	Latency  float32 // in ms
}

// PlacedPlayer is a player and its player session in a FULFILLED placement.
type PlacedPlayer struct {
	PlayerID        PlayerID
	PlayerSessionID PlayerSessionID
}

// StartPlacement requests a placement.
type StartPlacement struct {
	ToPlacements[*Placement]
	ID             PlacementID
	Queue          QueueName
	MaxPlayers     int
	Name           string
	Data           string
	Properties     []Property
	Latencies      []PlayerLatency
	Players        []NewPlayer
	LocationOrder  []string // PriorityConfigurationOverride; nil if there is none
	FallbackNone   bool     // PlacementFallbackStrategy is NONE
	MatchmakerData string
	Call           string `json:",omitempty"` // see WithID
}

// Placement is one placement. It is immutable once shared.
type Placement struct {
	Request StartPlacement
	Status  PlacementStatus
	Started time.Time
	Ended   time.Time // zero while PENDING

	// While PENDING, the following fields describe the latest attempt. Once FULFILLED, they are final.
	GameSessionID GameSessionID
	Location      string
	IPAddress     string
	DNSName       string
	Port          int
	Node          string `json:",omitempty"` // that of the game session; empty without a cluster

	Placed []PlacedPlayer // set once FULFILLED

	// Waited describes, for operators, why an ended placement was last waiting. It is empty if the placement did not
	// wait.
	Waited string `json:",omitempty"`
}

// UpdateQueue changes a queue. A nil value, or a Timeout of 0, stays the same. An empty list removes the value.
type UpdateQueue struct {
	ToPlacements[*Queue]
	Name             QueueName
	Timeout          time.Duration
	Destinations     *[]string
	Policies         *[]LatencyPolicy
	AllowedLocations *[]string
	Priority         *QueuePriority
	CustomEventData  *string
	Notify           *string
}

// QueuePriority is a PriorityConfiguration. The zero value means that there is none.
type QueuePriority struct {
	Order     []Priority
	Locations []string
}

// Empty reports whether there is no PriorityConfiguration. It is not named IsZero, because JSON
// would then omit the value.
func (p QueuePriority) Empty() bool { return len(p.Order)+len(p.Locations) == 0 }

// SetPriority sets the PriorityConfiguration of a queue. The queue must not be shared yet.
func (q *Queue) SetPriority(p QueuePriority) {
	q.HasPriority, q.PriorityOrder, q.LocationOrder = !p.Empty(), p.Order, p.Locations
}

// Apply returns a copy of q with the changes in u.
func (u *UpdateQueue) Apply(q *Queue) *Queue {
	next := *q
	if u.Timeout > 0 {
		next.Timeout = u.Timeout
	}
	Replace(&next.Destinations, u.Destinations)
	Replace(&next.Policies, u.Policies)
	if Replace(&next.AllowedLocations, u.AllowedLocations); u.AllowedLocations != nil && len(*u.AllowedLocations) == 0 {
		next.AllowedLocations = nil
	}
	if u.Priority != nil {
		next.SetPriority(*u.Priority)
	}
	Replace(&next.CustomEventData, u.CustomEventData)
	Replace(&next.Notify, u.Notify)
	return &next
}

// CreateQueue creates a queue. The error is InvalidRequest if the name is taken, NotFound if a destination is unknown,
// and LimitExceeded if there are too many queues.
type CreateQueue struct {
	ToPlacements[*Queue]
	Queue Queue
}

// DeleteQueue deletes a queue. The queue's placements become FAILED.
type DeleteQueue struct {
	ToPlacements[None]
	Name QueueName
}

// QueueQuery requests all queues, oldest first.
type QueueQuery struct{ ToPlacements[[]*Queue] }

// PlacementQuery requests a placement. The error is NotFound if the placement is unknown.
type PlacementQuery struct {
	ToPlacements[*Placement]
	ID PlacementID
}

// StopPlacement cancels a placement. The error is InvalidRequest if the placement is not PENDING.
type StopPlacement struct {
	ToPlacements[*Placement]
	ID PlacementID
}
