package messages

import "time"

// PlacementID names a placement; the caller chooses it.
type PlacementID string

// QueueName names a queue; the caller chooses it.
type QueueName string

// Priority is what a queue sorts candidates by (service-api.md 3.3).
type Priority string

// Priorities.
const (
	PriorityLatency     Priority = "LATENCY"
	PriorityCost        Priority = "COST"
	PriorityDestination Priority = "DESTINATION"
	PriorityLocation    Priority = "LOCATION"
)

// LatencyPolicy caps what a player may have reported for a location, for a time
// (service-api.md 3.2).
type LatencyPolicy struct {
	Max      int           // ms
	Duration time.Duration // 0: until the queue's timeout
}

// Queue is a game session queue. Nobody changes a record that others may hold.
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

// PlayerLatency is what a player measured.
type PlayerLatency struct {
	PlayerID PlayerID
	Location string
	Latency  float32 // ms
}

// PlacedPlayer is a player's seat in a fulfilled placement.
type PlacedPlayer struct {
	PlayerID        PlayerID
	PlayerSessionID PlayerSessionID
}

// StartPlacement asks for a placement.
type StartPlacement struct {
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

// Placement is one placement. Nobody changes a record that others may hold.
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
}

// UpdateQueue changes a queue. A pointer that is nil, and a Timeout of 0, leave what
// there is; an empty list removes what is configured.
type UpdateQueue struct {
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

// IsZero reports whether it is none.
func (p QueuePriority) IsZero() bool { return len(p.Order)+len(p.Locations) == 0 }

// SetPriority gives a queue, which nobody else holds yet, a PriorityConfiguration.
func (q *Queue) SetPriority(p QueuePriority) {
	q.HasPriority, q.PriorityOrder, q.LocationOrder = !p.IsZero(), p.Order, p.Locations
}

// Apply returns q as u changes it.
func (u *UpdateQueue) Apply(q *Queue) *Queue {
	next := *q
	if u.Timeout > 0 {
		next.Timeout = u.Timeout
	}
	if u.Destinations != nil {
		next.Destinations = *u.Destinations
	}
	if u.Policies != nil {
		next.Policies = *u.Policies
	}
	if u.AllowedLocations != nil {
		next.AllowedLocations = *u.AllowedLocations
		if len(next.AllowedLocations) == 0 {
			next.AllowedLocations = nil
		}
	}
	if u.Priority != nil {
		next.SetPriority(*u.Priority)
	}
	if u.CustomEventData != nil {
		next.CustomEventData = *u.CustomEventData
	}
	if u.Notify != nil {
		next.Notify = *u.Notify
	}
	return &next
}
