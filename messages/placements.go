package messages

import (
	"time"
)

// PlacementID names a placement; the caller chooses it.
type PlacementID string

// QueueName names a queue; the caller chooses it.
type QueueName string

// Priority is a criterion by which a queue sorts candidates (service-api.md 3.3).
type Priority string

// Priorities.
const (
	PriorityLatency     Priority = "LATENCY"
	PriorityCost        Priority = "COST"
	PriorityDestination Priority = "DESTINATION"
	PriorityLocation    Priority = "LOCATION"
)

// LatencyPolicy bounds, for a time, each player's reported latency to a location (service-api.md 3.2).
type LatencyPolicy struct {
	Max      int           // ms
	Duration time.Duration // 0: until the queue's timeout
}

// Queue is a game session queue. Immutable once shared.
type Queue struct {
	Name             QueueName
	ARN              string
	Timeout          time.Duration
	Destinations     []string // ARNs of fleets and aliases, in order
	Policies         []LatencyPolicy
	AllowedLocations []string // nil: all
	PriorityOrder    []Priority
	LocationOrder    []string
	HasPriority      bool // a PriorityConfiguration is set
	CustomEventData  string
	Notify           string // NotificationTarget
	Created          time.Time
	Tags             map[string]string
}

// PlacementStatus is the state of a placement (service-api.md 2.9).
type PlacementStatus uint8

// Placement statuses; all but the first are final.
const (
	PlacementPending PlacementStatus = iota + 1
	PlacementFulfilled
	PlacementCancelled
	PlacementTimedOut
	PlacementFailed
)

var placementStatusNames = [...]string{"", "PENDING", "FULFILLED", "CANCELLED", "TIMED_OUT", "FAILED"}

// String returns the API's name.
func (s PlacementStatus) String() string { return nameOf(placementStatusNames[:], int(s)) }

// Final reports whether the status never changes again.
func (s PlacementStatus) Final() bool { return s > PlacementPending }

// PlayerLatency is the latency that a player measured to one location.
type PlayerLatency struct {
	PlayerID PlayerID
	Location string
	Latency  float32 // ms
}

// PlacedPlayer is a player and its player session in a fulfilled placement.
type PlacedPlayer struct {
	PlayerID        PlayerID
	PlayerSessionID PlayerSessionID
}

// StartPlacement asks for a placement.
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
	LocationOrder  []string // PriorityConfigurationOverride; nil: none
	FallbackNone   bool     // PlacementFallbackStrategy NONE
	MatchmakerData string
}

// Placement is one placement. Immutable once shared.
type Placement struct {
	Request StartPlacement
	Status  PlacementStatus
	Started time.Time
	Ended   time.Time // zero while PENDING

	// Of the latest attempt while PENDING, final once FULFILLED.
	GameSessionID GameSessionID
	Location      string
	IPAddress     string
	DNSName       string
	Port          int

	Placed []PlacedPlayer // once FULFILLED

	// Waited says in a sentence, for operators, why it waited last, once it has ended; empty if it did not wait.
	Waited string `json:",omitempty"`
}

// UpdateQueue changes a queue. Nil and a Timeout of 0 leave the value; an empty list removes it.
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

// QueuePriority is a PriorityConfiguration; the zero value is none.
type QueuePriority struct {
	Order     []Priority
	Locations []string
}

// Empty reports whether there is no PriorityConfiguration. It is not named IsZero, which JSON would take for an absent one.
func (p QueuePriority) Empty() bool { return len(p.Order)+len(p.Locations) == 0 }

// SetPriority sets the PriorityConfiguration of a queue that is not shared yet.
func (q *Queue) SetPriority(p QueuePriority) {
	q.HasPriority, q.PriorityOrder, q.LocationOrder = !p.Empty(), p.Order, p.Locations
}

// Apply returns a copy of q with the changes of u.
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

// CreateQueue makes a queue. InvalidRequest: the name is taken; NotFound: a destination; LimitExceeded: too many queues.
type CreateQueue struct {
	ToPlacements[*Queue]
	Queue Queue
}

// DeleteQueue deletes a queue; its placements become FAILED.
type DeleteQueue struct {
	ToPlacements[None]
	Name QueueName
}

// QueueQuery asks for all queues, oldest first.
type QueueQuery struct{ ToPlacements[[]*Queue] }

// PlacementQuery asks for a placement. An unknown one is NotFound.
type PlacementQuery struct {
	ToPlacements[*Placement]
	ID PlacementID
}

// StopPlacement cancels a placement. One that is not PENDING is InvalidRequest.
type StopPlacement struct {
	ToPlacements[*Placement]
	ID PlacementID
}
