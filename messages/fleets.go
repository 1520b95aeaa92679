package messages

import (
	"maps"
	"time"
)

// UpdateFleet changes those attributes of a fleet that are not nil.
type UpdateFleet struct {
	ToCatalog[*Fleet]
	FleetID           FleetID
	Name, Description *string
	Protection        *bool         // FullProtection of future game sessions
	CreatorLimit      *CreatorLimit // limit for future game sessions
	MetricGroups      []string
	Cost              *string // only for an ANYWHERE fleet
}

// UpdateCapacity changes the number of a fleet's process groups in a location. An empty location means the home
// location. A nil value stays the same.
type UpdateCapacity struct {
	ToCatalog[*Fleet]
	FleetID           FleetID
	Location          string
	Desired, Min, Max *int
}

// Port is a port range in a fleet's settings. The host only stores it.
type Port struct {
	From, To        int
	Range, Protocol string
}

// UpdatePorts adds and removes port ranges.
type UpdatePorts struct {
	ToCatalog[*Fleet]
	FleetID     FleetID
	Add, Remove []Port
}

// AddFleetLocations adds locations to a fleet.
type AddFleetLocations struct {
	ToCatalog[*Fleet]
	FleetID   FleetID
	Locations []string
}

// RemoveFleetLocations removes locations from a fleet and ends the fleet's game sessions there.
type RemoveFleetLocations struct {
	ToCatalog[*Fleet]
	FleetID   FleetID
	Locations []string
}

// FleetUseQuery requests the use of fleets in a location. An empty location means each fleet's home location. If
// FleetIDs is nil, it selects all fleets.
type FleetUseQuery struct {
	ToEveryHost[[]FleetUse]
	FleetIDs []FleetID
	Location string
}

// FleetUse is the capacity and the use of a fleet in one location.
type FleetUse struct {
	Fleet    *Fleet
	Location string
	// Numbers of process groups. Pending groups are not ACTIVE yet. Idle groups are ACTIVE without a game session.
	// Terminating groups exceed the desired number.
	Groups                             Groups
	Pending, Active, Idle, Terminating int
	Processes                          int // ready, or with a game session
	GameSessions                       int // number of ACTIVE game sessions
	Players, PlayersMax                int // in these game sessions: the number of ACTIVE player sessions, and the maximum number
}

// FleetRoom says how many game sessions a fleet has in a location and how many more it could start. Closed says that
// the fleet has been scaled to 0 there or is being deleted.
type FleetRoom struct {
	FleetID            FleetID
	Location           string
	GameSessions, Free int
	Closed             bool
}

// FleetRoomQuery requests the FleetRoom of all fleets in all their locations, oldest fleets first. The answer has at
// most FleetRoomMax entries.
type FleetRoomQuery struct {
	ToThisHost[[]FleetRoom]
}

// FleetRoomMax is the maximum number of entries in the answer to a FleetRoomQuery.
const FleetRoomMax = 500

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

// InstanceQuery requests a fleet's process groups in a location. An empty location means the home location.
type InstanceQuery struct {
	ToEveryHost[[]Instance]
	FleetID  FleetID
	Location string
}

// CreateAlias creates an alias with either a FleetID (SIMPLE routing) or a Message (TERMINAL routing).
type CreateAlias struct {
	ToCatalog[*Alias]
	ID                AliasID // a new id (see WithID)
	Name, Description string
	FleetID           FleetID
	Message           string
	Tags              map[string]string
	Call              string // see WithID
}

// UpdateAlias changes those attributes of an alias that are not nil.
type UpdateAlias struct {
	ToCatalog[*Alias]
	ID                AliasID
	Name, Description *string
	Routing           *Routing
}

// DeleteAlias deletes an alias.
type DeleteAlias struct {
	ToCatalog[None]
	ID AliasID
}

// AliasQuery requests one alias. An empty id requests all aliases, oldest first.
type AliasQuery struct {
	ToCatalog[[]*Alias]
	ID AliasID
}

// FleetQuery requests all fleets, oldest first. It includes TERMINATED fleets that are still kept.
type FleetQuery struct {
	ToCatalog[[]*Fleet]
	With []FleetID // the answer has these if they exist, also if another node of a cluster created them a moment ago
}

// DeleteFleet deletes a fleet and ends its game sessions.
type DeleteFleet struct {
	ToCatalog[None]
	ID FleetID
}

// FleetEventQuery requests the events of a fleet, oldest first.
type FleetEventQuery struct {
	ToCatalog[[]FleetEvent]
	ID FleetID
}

// CheckDestinations checks whether ARNs of fleets and aliases are valid destinations of one queue. The error is
// NotFound for unknown ones. It is InvalidRequest for fleets that are being deleted, and if only some of the fleets
// have certificates.
type CheckDestinations struct {
	ToCatalog[None]
	Destinations []string
}

// Routing is the target of an alias: either a fleet, or no fleet and a message.
type Routing struct {
	FleetID FleetID
	Message string
}

// Resource identifies a resource that can have tags. Kind is as in ARNs (fleet, alias, script, location,
// gamesessionqueue). ID is the resource's id or name.
type Resource struct{ Kind, ID string }

// Route returns the route to the owner of resources of this kind.
func (r Resource) Route() Route {
	switch r.Kind {
	case "gamesessionqueue":
		return RoutePlacements
	case "matchmakingruleset", "matchmakingconfiguration":
		return RouteMatchmaking
	}
	return RouteCatalog
}

// TagQuery requests the tags of a resource. The error is NotFound if the resource is unknown or its kind has no tags.
type TagQuery struct {
	answeredWith[map[string]string]
	Resource
}

// UpdateTags sets and removes tags. The answer contains all tags of the resource. Removing an unknown key is not an
// error.
type UpdateTags struct {
	answeredWith[map[string]string]
	Resource Resource
	Set      map[string]string
	Remove   []string
}

// Route implements Request.
func (u UpdateTags) Route() Route { return u.Resource.Route() }

// TagsMax is the maximum number of tags of one resource (service-api.md 2.11).
const TagsMax = 50

// ChangeTags returns a changed copy of had. The error is TaggingFailed if there would be more than TagsMax tags.
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
