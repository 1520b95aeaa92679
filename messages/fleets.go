package messages

import (
	"maps"
	"time"
)

// UpdateFleet changes what is not nil.
type UpdateFleet struct {
	FleetID           FleetID
	Name, Description *string
	Protection        *bool         // FullProtection, of game sessions from then on
	CreatorLimit      *CreatorLimit // of game sessions from then on
	MetricGroups      []string
	Cost              *string // of an ANYWHERE fleet
}

// UpdateCapacity changes how many process groups a fleet has in a location; what is nil
// stays. An empty location is the home.
type UpdateCapacity struct {
	FleetID           FleetID
	Location          string
	Desired, Min, Max *int
}

// Port is a range of ports that a fleet's settings name. The host does not act on it.
type Port struct {
	From, To        int
	Range, Protocol string
}

// UpdatePorts adds and removes port ranges.
type UpdatePorts struct {
	FleetID     FleetID
	Add, Remove []Port
}

// FleetLocations names locations of a fleet that are to be added or removed.
type FleetLocations struct {
	FleetID   FleetID
	Locations []string
}

// FleetUseQuery asks for the use of fleets in one location, their home if it is empty.
// Without ids it is of all fleets.
type FleetUseQuery struct {
	FleetIDs []FleetID
	Location string
}

// FleetUse is what a fleet has and uses in one location.
type FleetUse struct {
	Fleet    *Fleet
	Location string
	// Groups of processes: what is wanted, what is not ACTIVE yet, what is, how many of
	// those have no game session, and how many are over what is wanted.
	Groups                             Groups
	Pending, Active, Idle, Terminating int
	Processes                          int // ready or with a game session
	GameSessions                       int // ACTIVE
	Players, PlayersMax                int // ACTIVE player sessions, and seats, of those
}

// Instance is one process group of a fleet.
type Instance struct {
	ID                 string
	FleetID            FleetID
	Location           string
	Type               string
	Status             string // an InstanceStatus of the API
	IPAddress, DNSName string
	Created            time.Time
}

// InstanceQuery asks for the process groups of a fleet in a location, its home if that
// is empty.
type InstanceQuery struct {
	FleetID  FleetID
	Location string
}

// CreateAlias makes an alias: FleetID for SIMPLE routing, else Message for TERMINAL.
type CreateAlias struct {
	Name, Description string
	FleetID           FleetID
	Message           string
	Tags              map[string]string
}

// UpdateAlias changes what is not nil. Routing is what an alias has of FleetID and
// Message.
type UpdateAlias struct {
	ID                AliasID
	Name, Description *string
	Routing           *Routing
}

// Routing is where an alias leads: to a fleet, or nowhere, with a message.
type Routing struct {
	FleetID FleetID
	Message string
}

// Resource names something that can have tags: its kind as in ARNs (fleet, alias,
// script, location, gamesessionqueue) and its id or name.
type Resource struct{ Kind, ID string }

// UpdateTags sets and removes tags; keys that are not there are no error.
type UpdateTags struct {
	Resource Resource
	Set      map[string]string
	Remove   []string
}

// TagsMax bounds the tags of one resource (service-api.md 2.11).
const TagsMax = 50

// ChangeTags returns what tags are after a change; had is not changed. More than
// TagsMax of them are TaggingFailed.
func ChangeTags(had map[string]string, by UpdateTags) (map[string]string, error) {
	now := make(map[string]string, len(had)+len(by.Set))
	maps.Copy(now, had)
	maps.Copy(now, by.Set)
	for _, key := range by.Remove {
		delete(now, key)
	}
	if len(now) > TagsMax {
		return nil, Errorf(TaggingFailed, "a resource may have at most %d tags, it would have %d", TagsMax, len(now))
	}
	return now, nil
}
